// Drawing: the frames of the equation with their captions, labels and windows, and digits in their cells.

import { drawBands, drawStackShape } from "./bands.js";
import { buildCells, buildFrame } from "./build.js";
import { drawCells, drawLabels, topOf } from "./cells.js";
import { attr, make, put, say } from "./dom.js";
import { closeEditor } from "./editor.js";
import { labelWidth, MAP_LABEL, signLines, sizeOf } from "./fit.js";
import { rowSum } from "./frames.js";
import { buildMap, drawMap } from "./map.js";
import { cells, formatNumber } from "./numbers.js";
import { operationOf } from "./operations.js";
import { isBlank } from "./ticks.js";
import { canPan, shownCols, shownRows } from "./windows.js";
import { titleOf } from "./words.js";
/** @import { Axis, Frame, FrameUi, Group, Ruler, State } from "./types.d.ts" */

/** @param {State} s */
export function drawEquation(s) {
  s.root.classList.toggle("stack", s.fit.stack);
  s.root.style.setProperty("--px", s.fit.px + "px");
  s.root.classList.toggle("colour-only", s.fit.d < 0);
  s.root.classList.toggle("maps", Boolean(s.fit.cell));
  const { d } = s.fit,
    n = s.data.decimals,
    lost = d < 0 || s.order.some((f) => s.longest[f.id][d] < s.longest[f.id][n]);
  put(s.fits, lost ? say(s, d < 0 ? "fits_none" : "fits", { d, n }) : "");
  const wanted = s.order.map((f) => f.id);
  for (const id of Object.keys(s.ui)) {
    if (!wanted.includes(id)) {
      s.ui[id].term.remove();
      delete s.ui[id];
    }
  }
  const terms = wanted.map((id) => (s.ui[id] ??= buildFrame(s, id)).term);
  if (terms.some((t, k) => s.eq.children[k] !== t)) s.eq.append(...terms);
  for (const f of s.order) {
    const [i0, i1] = shownRows(f), [j0, j1] = shownCols(f);
    const u = s.ui[f.id], shape = [i1 - i0, j1 - j0, Boolean(s.fit.cell)].join();
    if (u.shape !== shape) {
      if (s.editor?.u === u) closeEditor(s, true);
      if (s.fit.cell) buildMap(u, f);
      else buildCells(u, i1 - i0, j1 - j0, f.id);
      u.shape = shape;
    }
    if (!s.fit.cell) {
      u.i0 = i0;
      u.j0 = j0;
    }
    drawFrame(s, f, u, i1 - i0, j1 - j0);
  }
  markRows(s);
  alignMiddles(s);
}

/**
 * The rows that an operation always marks, as those of a table that are read.
 * @param {State} s
 */
function markRows(s) {
  for (const rule of s.fit.cell ? [] : s.data.rules) {
    const marked = operationOf(rule).marked?.(s, rule);
    if (!marked) continue;
    const u = s.ui[marked.id];
    u.cells.forEach((row, r) => {
      const read = marked.isRead(u.i0 + r);
      row[0].parentElement.classList.toggle("read", read);
      u.labels.children[r]?.classList.toggle("read", read);
    });
  }
}

/**
 * Equal room above, and equal room below, puts the middles of the matrices and the signs of a line on one line.
 * @param {State} s
 */
function alignMiddles(s) {
  const all = s.order.map((f) => s.ui[f.id]),
    sizes = all.map((u) => [u.term.offsetTop, u.above.offsetHeight, u.below.offsetHeight]);
  all.forEach((u, k) => {
    const line = sizes.filter(([top]) => top === sizes[k][0]);
    u.term.style.setProperty("--up", Math.max(...line.map((z) => z[1])) + "px");
    u.term.style.setProperty("--down", Math.max(...line.map((z) => z[2])) + "px");
  });
}

/**
 * @param {Ruler} ruler
 * @param {Group} g
 */
function drawRuler(ruler, g) {
  ruler.box.hidden = g.count >= g.total;
  const place = (node, from, n) => {
    const [start, size] = [from, n].map((x) => (100 * x / g.total).toFixed(2) + "%");
    node.style.cssText = ruler.side === "c" ? `left:${start};width:${size}` : `top:${start};height:${size}`;
  };
  place(ruler.sent, g.lo, g.hi - g.lo);
  place(ruler.seen, g.start, g.count);
}

/**
 * @param {HTMLElement} node
 * @param {string} sign
 */
function drawSign(node, sign) {
  if (node.dataset.sign === sign) return;
  node.dataset.sign = sign;
  node.replaceChildren();
  if (sign) {
    signLines(sign).forEach((text, k) => {
      if (k) node.append(" ");
      make("span", "", node).textContent = text;
    });
  }
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {FrameUi} u
 * @param {number} rows
 * @param {number} cols
 */
function drawFrame(s, f, u, rows, cols) {
  const size = sizeOf(s, f, s.fit.px, s.fit.d, cols);
  if (s.fit.cell) size.labels = labelWidth(f, s.fit.px, MAP_LABEL);
  else if (s.fit.d < 0) size.cell = Math.max(4, Math.min(22, Math.floor((s.width - size.labels - 24) / cols)));
  u.frame.className = "frame" + (f.compact ? " compact" : "") + (f.cut ? " is-cut" : "") +
    (f.editable ? " editable" : "") + (s.fit.roomy ? " roomy" : "") + (canPan(f) ? " pans" : "");
  u.frame.dataset.role = f.role;
  u.frame.style.cssText = `--role:var(--role-${f.role});--cell:${size.cell}px;--labels:${size.labels}px;--cols:${cols}`;
  drawSign(u.sign, f.sign);
  u.sign.classList.toggle("struck", f.cut);
  put(u.symbol, f.label);
  put(u.slice, f.slice);
  drawShape(f, u);
  const words = [f.rows.word, f.cols.word].filter(Boolean);
  if (u.words.dataset.key !== words.join()) {
    u.words.replaceChildren(...words.map((w) => {
      const n = make("span");
      n.textContent = w;
      return n;
    }));
  }
  u.words.dataset.key = words.join();
  attr(u.grid, "aria-label", titleOf(f));
  attr(u.grid, "data-name", f.name);
  attr(u.grid, "aria-rowcount", f.rows.total);
  attr(u.grid, "aria-colcount", f.cols.total);
  attr(u.grid, "aria-readonly", !f.editable);
  if (s.fit.cell) drawMap(s, f, u);
  else drawDigits(s, f, u, rows, cols);
  drawSums(s, f, u);
  drawBelow(s, f, u);
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {FrameUi} u
 * @param {number} rows
 * @param {number} cols
 */
function drawDigits(s, f, u, rows, cols) {
  const bare = f.compact || s.fit.d < 0;
  drawLabels(u.heads, bare ? [] : cells(cols), f.cols, f.c0, u.j0);
  drawLabels(u.labels, bare ? [] : cells(rows), f.rows, f.r0, u.i0);
  drawCells(s, f, u);
  drawBands(f, u);
}

/**
 * @param {Frame} f
 * @param {FrameUi} u
 */
function drawShape(f, u) {
  const key = [f.rows.letter, f.cols.letter, f.rows.full, f.cols.full, f.stack?.letters].join();
  if (u.form.dataset.key === key) return;
  u.form.dataset.key = key;
  const letter = (a) => {
    const n = make("i", "axis");
    n.textContent = a.letter;
    n.style.color = `var(--axis-${a.axis})`;
    return n;
  };
  if (f.stack) {
    drawStackShape(f, u);
    return;
  }
  if (f.vector) {
    u.form.replaceChildren("[", letter(f.rows), `] ${f.rows.full}`);
    return;
  }
  u.form.replaceChildren("[", letter(f.rows), ", ", letter(f.cols), "] ", `${f.rows.full}×${f.cols.full}`);
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {FrameUi} u
 */
function drawSums(s, f, u) {
  const on = f.row_sums && s.fit.d >= 0 && f.nc === f.cols.total, notes = s.fit.d >= 0 && f.row_notes.length > 0;
  u.sums.classList.toggle("row-notes", notes);
  if (notes) {
    u.sums.replaceChildren(...u.cells.map((_row, r) => {
      const node = make("span");
      node.textContent = f.row_notes[u.i0 + r - f.r0];
      return node;
    }));
    return;
  }
  while (u.sums.children.length > (on ? u.cells.length : 0)) u.sums.lastChild.remove();
  if (on) {
    u.cells.forEach((row, r) => {
      const blank = row.some((_cell, c) => isBlank(s, f, u.i0 + r, u.j0 + c)), sum = rowSum(f, u.i0 + r);
      const node = u.sums.children[r] ?? make("span", "", u.sums);
      put(node, blank || Number.isNaN(sum) ? "" : formatNumber(sum, s.fit.d));
      attr(node, "title", say(s, "row_sum"));
    });
  }
  attr(u.sums, "data-word", on ? "Σ" : "");
}

/**
 * @param {Frame} f
 * @returns {[Axis, Group, [number, number]]}
 */
function rowsOf(f) {
  return [f.rows, f.rg, shownRows(f)];
}

/**
 * @param {Frame} f
 * @returns {[Axis, Group, [number, number]]}
 */
function columnsOf(f) {
  return [f.cols, f.cg, shownCols(f)];
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {FrameUi} u
 */
function drawBelow(s, f, u) {
  const [lo, hi] = f.range.map((v) => formatNumber(v, Math.max(0, Math.min(2, s.data.decimals))));
  put(
    u.note,
    f.cut
      ? say(s, "cut_short")
      : f.rows.full > f.rows.total
      ? say(s, "gathered", { count: f.rows.total, n: f.rows.full })
      : "",
  );
  for (const k of [0, 1]) {
    const [axis, g, [a, b]] = k ? columnsOf(f) : rowsOf(f), p = u.pans[k];
    p.box.hidden = b - a === axis.total;
    put(p.text, say(s, k ? "cols_part" : "rows_part", { a: a + 1, b, n: axis.total }));
    p.earlier.hidden = p.later.hidden = g.count >= g.total;
    p.earlier.disabled = g.start <= 0;
    p.later.disabled = g.start + g.count >= g.total;
    drawRuler(u.rulers[k], g);
    for (const name of ["earlier", "later"]) {
      attr(p[name], "aria-label", say(s, name, { axis: axis.letter, symbol: f.label }));
    }
  }
  u.scale.hidden = f.whole || f.range[0] === f.range[1];
  put(u.scale, `${lo} … ${hi}`);
  u.scale.style.setProperty("--lo", String(Math.abs(f.range[0]) / topOf(f)));
  u.scale.style.setProperty("--hi", String(f.range[1] / topOf(f)));
  attr(u.scale, "title", say(s, "shade", { lo, hi }));
  const home = u.pans.every((p) => !p.box.hidden) ? u.words : u.below; // two windows fill the line below
  if (u.scale.parentNode !== home) home[home === u.words ? "append" : "prepend"](u.scale);
  u.words.hidden = !u.words.children.length;
}
