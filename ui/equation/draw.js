// Drawing: the frames of the equation with their captions, labels and windows, and digits in their cells.

import { closeEditor } from "./change.js";
import { attr, button, make, put, say } from "./dom.js";
import { MAP_LABEL, drawSign, labelWidth, sizeOf } from "./fit.js";
import { canPan, colNumber, isEdited, isFresh, isUnwritten, numberOn, pan, rowNumber, shownCols, shownRows, value } from "./frames.js";
import { markRead } from "./lookup.js";
import { buildMap, drawMap } from "./map.js";
import { cells, formatNumber, fullValue } from "./numbers.js";
import { place, point } from "./point.js";
import { drawBands, drawStackShape, titleOf } from "./reshape.js";
import { isBlank } from "./steps.js";

export function drawEquation(s) {
  s.root.classList.toggle("stack", s.fit.stack);
  s.root.style.setProperty("--px", s.fit.px + "px");
  s.root.classList.toggle("colour-only", s.fit.d < 0);
  s.root.classList.toggle("maps", Boolean(s.fit.cell));
  const { d } = s.fit, n = s.data.decimals, lost = d < 0 || s.order.some((f) => s.longest[f.id][d] < s.longest[f.id][n]);
  put(s.fits, lost ? say(s, d < 0 ? "fits_none" : "fits", { d, n }) : "");
  const wanted = s.order.map((f) => f.id);
  for (const id of Object.keys(s.ui)) if (!wanted.includes(id)) { s.ui[id].term.remove(); delete s.ui[id]; }
  const terms = wanted.map((id) => (s.ui[id] ??= buildFrame(s, id)).term);
  if (terms.some((t, k) => s.eq.children[k] !== t)) s.eq.append(...terms);
  for (const f of s.order) {
    const [i0, i1] = shownRows(f), [j0, j1] = shownCols(f);
    const u = s.ui[f.id], shape = [i1 - i0, j1 - j0, Boolean(s.fit.cell)].join();
    if (u.shape !== shape) {
      if (s.editor?.u === u) closeEditor(s, true);
      if (s.fit.cell) buildMap(u, f); else buildCells(u, i1 - i0, j1 - j0, f.id);
      u.shape = shape;
    }
    if (!s.fit.cell) { u.i0 = i0; u.j0 = j0; }
    drawFrame(s, f, u, i1 - i0, j1 - j0);
  }
  markRead(s);
  alignMiddles(s);
}

// Equal room above, and equal room below, puts the middles of the matrices and the signs of a line on one line.
function alignMiddles(s) {
  const all = s.order.map((f) => s.ui[f.id]), sizes = all.map((u) => [u.term.offsetTop, u.above.offsetHeight, u.below.offsetHeight]);
  all.forEach((u, k) => {
    const line = sizes.filter(([top]) => top === sizes[k][0]);
    u.term.style.setProperty("--up", Math.max(...line.map((z) => z[1])) + "px");
    u.term.style.setProperty("--down", Math.max(...line.map((z) => z[2])) + "px");
  });
}

function buildFrame(s, id) {
  const term = make("div", "term"), sign = make("div", "sign", term), frame = make("div", "frame", term);
  const above = make("div", "above", frame), cap = make("div", "cap", above);
  const u = { term, sign, frame, above, symbol: make("b", "symbol", cap), slice: make("span", "slice", cap), form: make("span", "shape", cap) };
  u.words = make("div", "words", above);
  u.heads = make("div", "heads", above);
  const mid = make("div", "mid", frame);
  u.labels = make("div", "labels", mid);
  u.grid = make("div", "grid", mid);
  u.sums = make("div", "sums", mid);
  u.rulers = [buildRuler(s, make("div", "edge", mid), id, "r")];
  u.below = make("div", "below", frame);
  u.rulers.push(buildRuler(s, u.below, id, "c"));
  u.scale = make("span", "scale", u.below);
  u.pans = ["r", "c"].map((side) => buildPan(s, u, id, side));
  u.note = make("span", "note", u.below);
  u.grid.setAttribute("role", "grid");
  u.cells = [];
  return u;
}

function buildPan(s, u, id, side) {
  const box = make("span", "pan", u.below);
  const step = (sign) => () => { const g = s.frames[id][side + "g"]; if (pan(s, g, g.start + sign * g.count)) redraw(s); };
  const earlier = button(box, "", step(-1)), text = make("span", "", box), later = button(box, "", step(1));
  earlier.textContent = "‹"; later.textContent = "›";
  return { box, earlier, text, later };
}

// A thin line as long as the frame that stands for the whole axis: what was sent, and what of it is on screen.
function buildRuler(s, parent, id, side) {
  const box = make("div", `ruler ruler-${side}`, parent), sent = make("i", "sent", box), seen = make("i", "seen", box);
  box.setAttribute("aria-hidden", "true");
  const go = (e) => {
    const r = box.getBoundingClientRect(), g = s.frames[id][side + "g"];
    const at = side === "c" ? (e.clientX - r.left) / r.width : (e.clientY - r.top) / r.height;
    if (pan(s, g, Math.round(at * g.total - g.count / 2))) redraw(s);
  };
  box.onpointerdown = (e) => { box.setPointerCapture(e.pointerId); go(e); };
  box.onpointermove = (e) => { if (box.hasPointerCapture(e.pointerId)) go(e); };
  return { box, sent, seen, side };
}
function drawRuler(ruler, g) {
  ruler.box.hidden = g.count >= g.total;
  const place = (node, from, n) => {
    const [start, size] = [from, n].map((x) => (100 * x / g.total).toFixed(2) + "%");
    node.style.cssText = ruler.side === "c" ? `left:${start};width:${size}` : `top:${start};height:${size}`;
  };
  place(ruler.sent, g.lo, g.hi - g.lo); place(ruler.seen, g.start, g.count);
}

function buildCells(u, rows, cols, id) {
  u.cells = cells(rows).map((r) => {
    const row = make("div", "row");
    row.setAttribute("role", "row");
    return cells(cols).map((c) => makeCell(row, id, r, c));
  });
  u.grid.classList.remove("map");
  u.grid.replaceChildren(...u.cells.map((row) => row[0].parentNode));
  u.heads.className = "heads"; u.heads.replaceChildren(); u.labels.replaceChildren();
}
export function makeCell(row, id, r, c) {
  const cell = make("div", "cell", row);
  cell.setAttribute("role", "gridcell");
  cell.tabIndex = -1;
  cell.at = { id, r, c };
  return cell;
}

function drawFrame(s, f, u, rows, cols) {
  const size = sizeOf(s, f, s.fit.px, s.fit.d, cols);
  if (s.fit.cell) size.labels = labelWidth(f, s.fit.px, MAP_LABEL);
  else if (s.fit.d < 0) size.cell = Math.max(4, Math.min(22, Math.floor((s.width - size.labels - 24) / cols)));
  u.frame.className = "frame" + (f.compact ? " compact" : "") + (f.cut ? " is-cut" : "") + (f.editable ? " editable" : "") + (s.fit.roomy ? " roomy" : "") + (canPan(f) ? " pans" : "");
  u.frame.dataset.role = f.role;
  u.frame.style.cssText = `--role:var(--role-${f.role});--cell:${size.cell}px;--labels:${size.labels}px;--cols:${cols}`;
  drawSign(u.sign, f.sign); u.sign.classList.toggle("struck", f.cut);
  put(u.symbol, f.label); put(u.slice, f.slice);
  drawShape(f, u);
  const words = [f.rows.word, f.cols.word].filter(Boolean);
  if (u.words.dataset.key !== words.join()) u.words.replaceChildren(...words.map((w) => { const n = make("span"); n.textContent = w; return n; }));
  u.words.dataset.key = words.join();
  attr(u.grid, "aria-label", titleOf(f)); attr(u.grid, "data-name", f.name);
  attr(u.grid, "aria-rowcount", f.rows.total); attr(u.grid, "aria-colcount", f.cols.total);
  attr(u.grid, "aria-readonly", !f.editable);
  if (s.fit.cell) drawMap(s, f, u); else drawDigits(s, f, u, rows, cols);
  drawSums(s, f, u);
  drawBelow(s, f, u);
}
function drawDigits(s, f, u, rows, cols) {
  const bare = f.compact || s.fit.d < 0;
  drawLabels(u.heads, bare ? [] : cells(cols), f.cols, f.c0, u.j0);
  drawLabels(u.labels, bare ? [] : cells(rows), f.rows, f.r0, u.i0);
  drawCells(s, f, u);
  drawBands(f, u);
}
export function drawCells(s, f, u) {
  const top = topOf(f);
  u.cells.forEach((row, r) => { attr(row[0].parentNode, "aria-rowindex", u.i0 + r + 1); row.forEach((cell, c) => drawCell(s, f, cell, u.i0 + r, u.j0 + c, top)); });
  if (!u.cells.flat().some((cell) => cell.tabIndex === 0)) u.cells[0][0].tabIndex = 0;
}
// The number of full shade.
export function topOf(f) { return Math.max(Math.abs(f.range[0]), Math.abs(f.range[1])) || 1; }

function drawShape(f, u) {
  const key = [f.rows.letter, f.cols.letter, f.rows.full, f.cols.full, f.stack?.letters].join();
  if (u.form.dataset.key === key) return;
  u.form.dataset.key = key;
  const letter = (a) => { const n = make("i", "axis"); n.textContent = a.letter; n.style.color = `var(--axis-${a.axis})`; return n; };
  if (f.stack) { drawStackShape(f, u); return; }
  if (f.vector) { u.form.replaceChildren("[", letter(f.rows), `] ${f.rows.full}`); return; }
  u.form.replaceChildren("[", letter(f.rows), ", ", letter(f.cols), "] ", `${f.rows.full}×${f.cols.full}`);
}

// Token labels as text; a label that occurs twice carries its index, and without labels the index stands alone.
function drawLabels(box, indices, axis, offset, first) {
  while (box.children.length > indices.length) box.lastChild.remove();
  for (const k of indices) {
    drawLabel(box.children[k] ?? make("span", "label", box), axis, offset, first + k);
  }
}
export function drawLabel(node, axis, offset, at) {
  const label = axis.labels[at - offset];
  const repeated = label !== undefined && axis.labels.indexOf(label) !== axis.labels.lastIndexOf(label);
  const text = label ?? String(numberOn(axis, at)), key = text + "\n" + (repeated ? at : "");
  if (node.dataset.key === key) return;
  node.dataset.key = key;
  node.className = label === undefined ? "label index" : "label";
  node.title = label === undefined || axis.places ? "" : `${label} (${at + 1})`;
  node.replaceChildren();
  const name = make("bdi", "", node); name.textContent = text;
  if (repeated) make("sub", "", node).textContent = at + 1;
}

function drawCell(s, f, cell, i, j, top) {
  const v = value(f, i, j), unwritten = isUnwritten(f, i, j), unseen = unwritten || isBlank(s, f, i, j), secret = Number.isNaN(v), changed = isEdited(s, f, i, j);
  const pinned = s.pin?.id === f.id && s.pin.row === i && s.pin.col === j;
  const fresh = isFresh(f, i, j);
  const key = [v, unwritten, fresh, unseen, changed, pinned, i, j, top, s.fit.d, f.label, s.data.strings.cell].join();
  if (cell.key === key) return;                           // most cells stay as they are in most reruns
  if (s.editor?.cell !== cell) cell.key = key;
  const text = unseen ? "" : secret ? "?" : s.fit.d < 0 ? "" : f.whole ? String(v) : formatNumber(v, s.fit.d);
  const full = unwritten ? say(s, "unwritten") : unseen ? say(s, "blank") : secret ? say(s, "hidden") : fullValue(v);
  if (s.editor?.cell !== cell) put(cell, text);
  attr(cell, "aria-label", say(s, "cell", { symbol: f.label, i: rowNumber(f, i), j: colNumber(f, j), value: full }));
  attr(cell, "aria-colindex", j + 1);
  attr(cell, "aria-selected", pinned);
  const on = { blank: unseen, unwritten, fresh, secret, ninf: !unseen && v === -Infinity, neg: !unseen && v < 0, edited: changed, pinned };
  for (const name in on) if (cell.classList.contains(name) !== on[name]) cell.classList.toggle(name, on[name]);
  const shade = unseen || f.whole || !Number.isFinite(v) ? 0 : Math.min(1, Math.abs(v) / top);
  cell.style.setProperty("--s", shade.toFixed(3));
  if (fresh) cell.style.setProperty("--role", `var(--role-${f.fresh[1]})`); else cell.style.removeProperty("--role");
}

export function rowSum(f, i) { let sum = 0; for (let c = 0; c < f.nc; c++) sum += f.v[(i - f.r0) * f.nc + c]; return Math.fround(sum); }
function drawSums(s, f, u) {
  const on = f.row_sums && s.fit.d >= 0 && f.nc === f.cols.total, notes = s.fit.d >= 0 && f.row_notes.length > 0;
  u.sums.classList.toggle("row-notes", notes);
  if (notes) {
    u.sums.replaceChildren(...u.cells.map((row, r) => { const node = make("span"); node.textContent = f.row_notes[u.i0 + r - f.r0]; return node; }));
    return;
  }
  while (u.sums.children.length > (on ? u.cells.length : 0)) u.sums.lastChild.remove();
  if (on) u.cells.forEach((row, r) => {
    const blank = row.some((cell, c) => isBlank(s, f, u.i0 + r, u.j0 + c)), sum = rowSum(f, u.i0 + r);
    const node = u.sums.children[r] ?? make("span", "", u.sums);
    put(node, blank || Number.isNaN(sum) ? "" : formatNumber(sum, s.fit.d)); attr(node, "title", say(s, "row_sum"));
  });
  attr(u.sums, "data-word", on ? "Σ" : "");
}

function drawBelow(s, f, u) {
  const [lo, hi] = f.range.map((v) => formatNumber(v, Math.max(0, Math.min(2, s.data.decimals))));
  put(u.note, f.cut ? say(s, "cut_short") : f.rows.full > f.rows.total ? say(s, "gathered", { count: f.rows.total, n: f.rows.full }) : "");
  for (const [k, axis, g, [a, b]] of [[0, f.rows, f.rg, shownRows(f)], [1, f.cols, f.cg, shownCols(f)]]) {
    const p = u.pans[k];
    p.box.hidden = b - a === axis.total;
    put(p.text, say(s, k ? "cols_part" : "rows_part", { a: a + 1, b, n: axis.total }));
    p.earlier.hidden = p.later.hidden = g.count >= g.total;
    p.earlier.disabled = g.start <= 0; p.later.disabled = g.start + g.count >= g.total;
    drawRuler(u.rulers[k], g);
    for (const name of ["earlier", "later"]) attr(p[name], "aria-label", say(s, name, { axis: axis.letter, symbol: f.label }));
  }
  u.scale.hidden = f.whole || f.range[0] === f.range[1];
  put(u.scale, `${lo} … ${hi}`); u.scale.style.setProperty("--lo", Math.abs(f.range[0]) / topOf(f)); u.scale.style.setProperty("--hi", f.range[1] / topOf(f)); attr(u.scale, "title", say(s, "shade", { lo, hi }));
  const home = u.pans.every((p) => !p.box.hidden) ? u.words : u.below;     // two windows fill the line below
  if (u.scale.parentNode !== home) home[home === u.words ? "append" : "prepend"](u.scale);
  u.words.hidden = !u.words.children.length;
}

export function redraw(s) { drawEquation(s); s.lit = s.lit.filter((n) => n.isConnected); point(s); }
