// The equation component. One state object per mounted instance; Python's data comes in through the default
// export, hover and stepping never leave the browser, edits and the pin go back as state.
// Indices (i, j) count from 0 over the whole axis; a frame holds the window [r0, r0+nr) × [c0, c0+nc) of it and
// shows the part of that window on which its axis groups stand.

// ---- numbers: the same rule as ui/theme.py, held to the same table ----

export function formatNumber(x, decimals) {
  const v = Math.fround(x), a = Math.abs(v), sign = v < 0 ? "−" : "";
  if (Number.isNaN(v)) return "NaN";
  if (a === Infinity) return sign + "∞";
  if (a >= 1e4) return sign + a.toExponential(2).replace("e+", "e");
  if (Number.isInteger(a)) return a ? sign + a : "0";
  const text = a.toFixed(decimals);                       // exact, ties up; a carries no sign
  return Number(text) ? sign + text : "≈0";
}

export function fullValue(x) {
  const v = Math.fround(x);
  if (!Number.isFinite(v)) return formatNumber(v, 0);
  for (let p = 1; p < 10; p++) {
    const short = Number(v.toPrecision(p));
    if (Math.fround(short) === v) return short ? String(short).replace("e+", "e") : "0";
  }
}

// What the learner typed as a float32, or null. No comma, no words, no overflow.
export function parseNumber(text) {
  const t = text.trim().replace("−", "-");
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(t)) return null;
  const v = Math.fround(Number(t));
  return Number.isFinite(v) ? Number(fullValue(v)) : null;
}

const REDUCES = { rowmax: true, rowsum: true };            // rules that make one column out of rows
const printed = (text) => text === "≈0" ? 0 : Number(text.replace("−", "-").replace("∞", "Infinity"));
const inBrackets = (text) => text[0] === "−" ? `(${text})` : text;

// ---- small DOM helpers ----

function make(tag, className, parent) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  parent?.append(node);
  return node;
}
function put(node, text) { if (node.textContent !== text) node.textContent = text; }
function attr(node, name, value) { if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value); }
function button(parent, className, act) {
  const node = make("button", className, parent);
  node.type = "button";
  node.onclick = act;
  return node;
}
function say(s, key, values = {}) {
  return (s.data.strings[key] ?? "").replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

// ---- frames and rules ----

function decode(frame) {
  const bytes = Uint8Array.from(atob(frame.values), (c) => c.charCodeAt(0));
  const nr = frame.rows.size, nc = frame.cols.size, v = new Float32Array(bytes.buffer);
  for (const [r, c] of frame.hidden) v[r * nc + c] = NaN;
  return { ...frame, v, nr, nc, r0: frame.rows.offset, c0: frame.cols.offset, cs: 0, mark: new Uint8Array(nr * nc) };
}
function has(f, i, j) { return i >= f.r0 && i < f.r0 + f.nr && j >= f.c0 && j < f.c0 + f.nc; }
function value(f, i, j) { return has(f, i, j) ? f.v[(i - f.r0) * f.nc + j - f.c0] : undefined; }
function editKey(f, i, j) { return f.transposed ? `${j},${i}` : `${i},${j}`; }
function isEdited(s, f, i, j) { return s.edits[f.name]?.[editKey(f, i, j)] !== undefined; }
// What made the cell: a cell that was edited by hand does not follow its frame's rule.
function makerOf(s, f, i, j) { return isEdited(s, f, i, j) ? undefined : s.maker[f.id]; }
function colOf(f, j) { return f.cols.total === 1 ? 0 : j; }        // and a one-column operand every column
function rowOf(f, i) { return f.rows.total === 1 ? 0 : i; }        // a one-row operand serves every row

// The cells that a rule reads for out[i, j], each given to visit(frame, i, j).
function eachSource(s, rule, i, j, visit) {
  const F = s.frames, left = F[rule.left], right = F[rule.right];
  if (rule.op === "matmul") {
    for (let d = left.c0; d < left.c0 + left.nc; d++) visit(left, i, d);
    for (let d = right.r0; d < right.r0 + right.nr; d++) visit(right, d, j + right.cs);
    if (rule.bias) visit(F[rule.bias], 0, j + F[rule.bias].cs);
  } else if (rule.op === "softmax") {
    const f = F[rule.in];
    for (let c = f.c0; c < f.c0 + f.nc; c++) visit(f, i, c);
  } else if (REDUCES[rule.op]) {
    const f = F[rule.in];
    for (let c = f.c0; c < f.c0 + f.nc; c++) visit(f, i, c);
  } else if (rule.op === "scale" || rule.op === "exp") visit(F[rule.in], i, j);
  else { visit(left, i, j); visit(right, rowOf(right, i), colOf(right, j)); }
}

// The cells that a rule makes from (i, j) of frame f.
function eachUse(s, rule, f, i, j, visit) {
  const out = s.frames[rule.out];
  const row = (r) => { for (let c = out.c0; c < out.c0 + out.nc; c++) visit(out, r, c); };
  const column = (c) => { for (let r = out.r0; r < out.r0 + out.nr; r++) visit(out, r, c); };
  if (rule.op === "matmul") {
    if (rule.left === f.id) row(i);
    if (rule.right === f.id || rule.bias === f.id) column(j - f.cs);
  } else if (rule.op === "softmax") row(i);
  else if (REDUCES[rule.op]) visit(out, i, 0);
  else if (rule.right === f.id && f.rows.total === 1 && out.rows.total !== 1) column(j);
  else if (rule.right === f.id && f.cols.total === 1) row(i);
  else visit(out, i, j);
}

// Everything the cell was made from, or for a given cell everything made from it: [[frame, i, j]…] without itself.
function related(s, f, i, j) {
  const backwards = Boolean(makerOf(s, f, i, j)), found = [], todo = [[f, i, j]], touched = [];
  const visit = (g, r, c) => {
    if (!has(g, r, c)) return;
    const k = (r - g.r0) * g.nc + c - g.c0;
    if (g.mark[k] || (!backwards && isEdited(s, g, r, c))) return;
    g.mark[k] = 1; touched.push(g, k); todo.push([g, r, c]); found.push([g, r, c]);
  };
  while (todo.length) {
    const [g, r, c] = todo.pop();
    if (backwards) { const rule = makerOf(s, g, r, c); if (rule) eachSource(s, rule, r, c, visit); }
    else for (const rule of s.users[g.id] ?? []) eachUse(s, rule, g, r, c, visit);
  }
  for (let k = 0; k < touched.length; k += 2) touched[k].mark[touched[k + 1]] = 0;
  return { backwards, found };
}

// Axes that run together (rows of Q with rows of QKᵀ, columns of Q with rows of Kᵀ) share one window.
function groupAxes(s) {
  const parent = {}, find = (k) => (parent[k] ??= k) === k ? k : (parent[k] = find(parent[k]));
  const join = (a, b) => { parent[find(a)] = find(b); };
  for (const r of s.data.rules) {
    if (r.op === "matmul") {
      join(r.left + "/r", r.out + "/r"); join(r.right + "/c", r.out + "/c"); join(r.left + "/c", r.right + "/r");
      if (r.bias) join(r.bias + "/c", r.out + "/c");
    } else for (const g of [r.in, r.left, r.right]) if (g) {
      if (s.frames[g].cols.total === s.frames[r.out].cols.total) join(g + "/c", r.out + "/c");
      if (s.frames[g].rows.total !== 1 || s.frames[r.out].rows.total === 1) join(g + "/r", r.out + "/r");
    }
  }
  shiftBlocks(s);
  const summed = new Set(s.data.rules.filter((r) => r.op === "matmul").map((r) => find(r.left + "/c")));
  const old = s.groups ?? {};
  s.groups = {};
  for (const f of s.order) for (const [side, lo, n] of [["r", f.r0, f.nr], ["c", f.c0 - f.cs, f.nc]]) {
    const key = find(f.id + "/" + side);
    const g = s.groups[key] ??= { lo, hi: lo + n, start: old[key]?.start ?? lo, count: old[key]?.count ?? 0, cols: false, inner: summed.has(key) };
    g.lo = Math.min(g.lo, lo); g.hi = Math.max(g.hi, lo + n); g.cols ||= side === "c";
    f[side === "r" ? "rg" : "cg"] = g;
  }
}
// A head's block of a wide parameter makes columns that count from their own start: column j comes from j + cs.
function shiftBlocks(s) {
  for (const rule of s.data.rules) if (rule.op === "matmul") for (const id of [rule.right, rule.bias]) if (id) {
    const f = s.frames[id], out = s.frames[rule.out];
    if (f.cols.total !== out.cols.total) f.cs = f.c0 - out.c0;
  }
}
// The part of a frame's rows and columns that is on screen: [first, end).
function part(lo, n, start, count) { return [Math.max(lo, start), Math.min(lo + n, start + count)]; }
function shownRows(f) { return part(f.r0, f.nr, f.rg.start, f.rg.count); }
function shownCols(f) { return part(f.c0, f.nc, f.cg.start + f.cs, f.cg.count); }
function moveWindow(g, start) { g.start = Math.max(g.lo, Math.min(start, g.hi - g.count)); }
function bringIntoView(g, at) {
  if (at < g.start) moveWindow(g, at);
  else if (at >= g.start + g.count) moveWindow(g, at - g.count + 1);
}

// ---- fitting the width: smaller type, fewer decimals, a window, several lines, colour only ----

// The longest number of each frame in characters, from its extremes: formatting every value would take too long.
function measureText(s) {
  s.longest = {};
  for (const f of s.order) {
    const finite = f.v.filter(Number.isFinite), fraction = !finite.every(Number.isInteger);
    const ends = [finite.reduce((a, v) => Math.max(a, v), 0), finite.reduce((a, v) => Math.min(a, v), 0)];
    const long = (v, d) => Math.abs(v) >= 1e4 ? Math.max(8, fraction ? d + 6 : 0) : v.toFixed(fraction ? d : 0).length;
    s.longest[f.id] = cells(s.data.decimals + 1).map((d) => Math.max(finite.length < f.v.length ? 2 : 1, ...ends.map((v) => long(v, d))));
  }
}
function labelWidth(f, px) {
  if (f.compact) return 0;
  const wide = (t) => [...t].reduce((n, c) => n + (c > "⺀" ? 1.05 : 0.6), 0);
  const longest = Math.max(0, ...f.rows.labels.map(wide), String(f.r0 + f.nr).length * 0.6);
  return Math.ceil((Math.min(longest, 6) + 0.9) * px * 0.82);
}
function sizeOf(s, f, px, d, n) {
  const cell = d < 0 ? Math.max(7, px * 0.55) : Math.ceil(Math.max(2.3, s.longest[f.id][d] * s.ch + 0.8) * px * (f.compact ? 0.86 : 1));
  const labels = d < 0 ? 0 : labelWidth(f, px), sums = f.row_sums && d >= 0 ? Math.ceil((d + 3) * s.ch * px) : 0;
  return { cell, labels, sums, width: labels + Math.max(Math.min(f.nc, n) * cell + 14, 6.4 * px) + sums };
}
// A sign that is a phrase takes a line more for its operator: "but / ÷ √2 =".
function signLines(sign) { return sign.length > 9 ? sign.replace(/(\p{L}) (?![\p{L}=→])/gu, "$1\n").split("\n") : [sign]; }
function signWidth(sign, px) { return sign ? Math.max(...signLines(sign).map((t) => t.length)) * px * 0.72 + px * 1.3 : px * 0.2; }
function drawSign(node, sign) {
  if (node.dataset.sign === sign) return;
  node.dataset.sign = sign;
  node.replaceChildren();
  if (sign) signLines(sign).forEach((text, k) => { if (k) node.append(" "); make("span", "", node).textContent = text; });
}

function fit(s) {
  const W = s.width, rem = parseFloat(getComputedStyle(document.documentElement).fontSize) || 16, groups = Object.values(s.groups);
  const most = s.data.decimals, least = Math.min(2, most), small = 0.72 * rem, stack = W < 480, isRoomy = (px) => px > 0.85 * rem;
  const lines = (px, d, count) => {                                      // as flex-wrap will break them; 99 where a frame is too wide
    let n = 1, x = 0;
    for (const f of s.order) {
      const wide = sizeOf(s, f, px, d, count(f.cg)).width + (stack ? 0 : signWidth(f.sign, px));
      if (wide > W) return 99;
      if (stack || x + wide > W) { n += x ? 1 : 0; x = 0; }
      x += wide;
    }
    return n;
  };
  // How many rows on all lines together keep the first view: 21 rem stand above and below, 6.4 round each matrix.
  const room = (n, px) => Math.floor((innerHeight - (21 + 6.4 * Math.min(n, 2)) * rem) / (px * (isRoomy(px) ? 1.85 : 1.65)));
  const tallest = (inner) => Math.min(32, Math.max(0, ...s.order.filter((f) => f.rg.inner === inner).map((f) => f.nr)));
  const results = tallest(false), summed = tallest(true), need = (n) => (Math.min(n, 2) - 1) * results + Math.max(results, summed);
  const tries = [1, 0.94, 0.88, 0.82, 0.76, 0.72].map((k) => [k * rem, most, 32]);
  for (let d = most - 1; d >= least; d--) tries.push([small, d, 32]);
  // A long sum is cut short before the results are: its terms are counted in the dock, its results are the point.
  const windows = (from, to) => [...cells(32 - 4).map((k) => [small, least, 32, 31 - k]),
    ...cells(from - to + 1).map((k) => [small, least, from - k, Math.min(4, from - k)])];
  const linesOf = ([px, d, limit, inner = limit]) => lines(px, d, (g) => g.inner ? inner : limit);
  const within = (n, list) => list.find((t) => { const k = linesOf(t); return k <= n && (stack || t[0] <= small || need(k) <= room(k, t[0])); });
  const best = within(1, [...tries, ...windows(31, 8)]) ?? within(2, [...tries, ...windows(31, 6)])
    ?? within(3, windows(31, 6)) ?? within(9, [...tries, ...windows(31, 3)]);
  const [px, d, limit, inner = limit] = best ?? [small, -1, 32], n = best ? linesOf(best) : 1;
  const counts = () => groups.map((g) => g.count).join(), before = counts();
  // Two rows too many are shown all the same: the buttons of a window would be as tall.
  const total = room(n, px), few = Math.min(n, 2), fitting = (all, part, spare) => all <= part + spare ? all : Math.max(5, part);
  const rows = best ? Math.min(fitting(results, Math.floor(total / few), 2 / few), n > 1 ? 12 : 32) : 32;
  const terms = best ? fitting(summed, total - (few - 1) * Math.min(rows, results), 2) : 32;
  for (const g of groups) g.count = Math.min(g.hi - g.lo, g.inner ? Math.min(inner, terms) : g.cols ? limit : rows);
  for (const g of groups) if (best && g.cols) {                          // what the lines leave free is used
    const end = Math.min(g.hi - g.lo, g.inner ? terms : 32);
    while (g.count < end) if (g.count += 1, lines(px, d, (h) => h.count) > n) { g.count -= 1; break; }
  }
  for (const g of groups) moveWindow(g, g.start);
  s.seek ||= before !== counts();                                        // the window moved round the pinned cell
  s.fit = { px, d, stack, roomy: isRoomy(px) };
}

// ---- drawing ----

function drawEquation(s) {
  s.root.classList.toggle("stack", s.fit.stack);
  s.root.style.setProperty("--px", s.fit.px + "px");
  s.root.classList.toggle("colour-only", s.fit.d < 0);
  const { d } = s.fit, n = s.data.decimals, lost = d < 0 || s.order.some((f) => s.longest[f.id][d] < s.longest[f.id][n]);
  put(s.fits, lost ? say(s, d < 0 ? "fits_none" : "fits", { d, n }) : "");
  const wanted = s.order.map((f) => f.id);
  for (const id of Object.keys(s.ui)) if (!wanted.includes(id)) { s.ui[id].term.remove(); delete s.ui[id]; }
  for (const f of s.order) {
    const [i0, i1] = shownRows(f), [j0, j1] = shownCols(f);
    const shape = [i1 - i0, j1 - j0].join();
    let u = s.ui[f.id] ??= buildFrame(s, f.id);
    if (u.shape !== shape) { if (s.editor?.u === u) closeEditor(s, true); buildCells(u, i1 - i0, j1 - j0, f.id); u.shape = shape; }
    u.i0 = i0; u.j0 = j0;
    drawFrame(s, f, u, i1 - i0, j1 - j0);
  }
  const terms = wanted.map((id) => s.ui[id].term);
  if (terms.some((t, k) => s.eq.children[k] !== t)) s.eq.append(...terms);
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
  u.below = make("div", "below", frame);
  u.scale = make("span", "scale", u.below);
  u.pans = ["r", "c"].map((side) => buildPan(s, u, id, side));
  u.note = make("span", "note", u.below);
  u.grid.setAttribute("role", "grid");
  u.cells = [];
  return u;
}

function buildPan(s, u, id, side) {
  const box = make("span", "pan", u.below);
  const step = (sign) => () => { const g = s.frames[id][side + "g"]; moveWindow(g, g.start + sign * g.count); redraw(s); };
  const earlier = button(box, "", step(-1)), text = make("span", "", box), later = button(box, "", step(1));
  earlier.textContent = "‹"; later.textContent = "›";
  return { box, earlier, text, later };
}

function buildCells(u, rows, cols, id) {
  u.cells = Array.from({ length: rows }, (_, r) => {
    const row = make("div", "row");
    row.setAttribute("role", "row");
    return Array.from({ length: cols }, (_, c) => {
      const cell = make("div", "cell", row);
      cell.setAttribute("role", "gridcell");
      cell.tabIndex = -1;
      cell.at = { id, r, c };
      return cell;
    });
  });
  u.grid.replaceChildren(...u.cells.map((row) => row[0].parentNode));
}

function drawFrame(s, f, u, rows, cols) {
  const size = sizeOf(s, f, s.fit.px, s.fit.d, cols);
  if (s.fit.d < 0) size.cell = Math.max(4, Math.min(22, Math.floor((s.width - size.labels - 24) / cols)));
  u.frame.className = "frame" + (f.compact ? " compact" : "") + (f.cut ? " is-cut" : "") + (f.editable ? " editable" : "") + (s.fit.roomy ? " roomy" : "");
  u.frame.dataset.role = f.role;
  u.frame.style.cssText = `--role:var(--role-${f.role});--cell:${size.cell}px;--labels:${size.labels}px;--cols:${cols}`;
  drawSign(u.sign, f.sign); u.sign.classList.toggle("struck", f.cut);
  put(u.symbol, f.label); put(u.slice, f.slice);
  drawShape(f, u);
  const words = [f.rows.word, f.cols.word].filter(Boolean);
  if (u.words.dataset.key !== words.join()) u.words.replaceChildren(...words.map((w) => { const n = make("span"); n.textContent = w; return n; }));
  u.words.dataset.key = words.join();
  const bare = f.compact || s.fit.d < 0;
  drawLabels(u.heads, bare ? [] : cells(cols), f.cols, f.c0, u.j0);
  drawLabels(u.labels, bare ? [] : cells(rows), f.rows, f.r0, u.i0);
  attr(u.grid, "aria-label", f.label); attr(u.grid, "data-name", f.name);
  attr(u.grid, "aria-rowcount", f.rows.total); attr(u.grid, "aria-colcount", f.cols.total);
  attr(u.grid, "aria-readonly", !f.editable);
  const top = Math.max(Math.abs(f.range[0]), Math.abs(f.range[1])) || 1;
  u.cells.forEach((row, r) => { attr(row[0].parentNode, "aria-rowindex", u.i0 + r + 1); row.forEach((cell, c) => drawCell(s, f, cell, u.i0 + r, u.j0 + c, top)); });
  if (!u.cells.flat().some((cell) => cell.tabIndex === 0)) u.cells[0][0].tabIndex = 0;
  drawSums(s, f, u);
  drawBelow(s, f, u);
}
function cells(n) { return Array.from({ length: n }, (_, k) => k); }

function drawShape(f, u) {
  const key = [f.rows.letter, f.cols.letter, f.rows.total, f.cols.total].join();
  if (u.form.dataset.key === key) return;
  u.form.dataset.key = key;
  const letter = (a) => { const n = make("i", "axis"); n.textContent = a.letter; n.style.color = `var(--axis-${a.axis})`; return n; };
  u.form.replaceChildren("[", letter(f.rows), ", ", letter(f.cols), "] ", `${f.rows.total}×${f.cols.total}`);
}

// Token labels as text; a label that occurs twice carries its index, and without labels the index stands alone.
function drawLabels(box, indices, axis, offset, first) {
  while (box.children.length > indices.length) box.lastChild.remove();
  for (const k of indices) {
    const node = box.children[k] ?? make("span", "label", box), at = first + k, label = axis.labels[at - offset];
    const repeated = label !== undefined && axis.labels.indexOf(label) !== axis.labels.lastIndexOf(label);
    const text = label ?? String(at + 1), key = text + "\n" + (repeated ? at : "");
    if (node.dataset.key === key) continue;
    node.dataset.key = key;
    node.className = label === undefined ? "label index" : "label";
    node.title = label === undefined ? "" : `${label} (${at + 1})`;
    node.replaceChildren();
    const name = make("bdi", "", node); name.textContent = text;
    if (repeated) make("sub", "", node).textContent = at + 1;
  }
}

function drawCell(s, f, cell, i, j, top) {
  const v = value(f, i, j), unseen = isBlank(s, f, i, j), secret = Number.isNaN(v), changed = isEdited(s, f, i, j);
  const pinned = s.pin?.id === f.id && s.pin.row === i && s.pin.col === j;
  const key = [v, unseen, changed, pinned, i, j, top, s.fit.d, f.label, s.data.strings.cell].join();
  if (cell.key === key) return;                           // most cells stay as they are in most reruns
  if (s.editor?.cell !== cell) cell.key = key;
  const text = unseen ? "" : secret ? "?" : s.fit.d < 0 ? "" : formatNumber(v, s.fit.d);
  const full = unseen ? say(s, "blank") : secret ? say(s, "hidden") : fullValue(v);
  if (s.editor?.cell !== cell) put(cell, text);
  attr(cell, "aria-label", say(s, "cell", { symbol: f.label, i: i + 1, j: j + 1, value: full }));
  attr(cell, "aria-colindex", j + 1);
  attr(cell, "aria-selected", pinned);
  const on = { blank: unseen, secret, ninf: !unseen && v === -Infinity, neg: !unseen && v < 0, edited: changed, pinned };
  for (const name in on) if (cell.classList.contains(name) !== on[name]) cell.classList.toggle(name, on[name]);
  const shade = unseen || !Number.isFinite(v) ? 0 : Math.min(1, Math.abs(v) / top);
  cell.style.setProperty("--s", shade.toFixed(3));
}

function rowSum(f, i) { let sum = 0; for (let c = 0; c < f.nc; c++) sum += f.v[(i - f.r0) * f.nc + c]; return Math.fround(sum); }
function drawSums(s, f, u) {
  const on = f.row_sums && s.fit.d >= 0 && f.nc === f.cols.total;
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
  put(u.note, f.cut ? say(s, "cut_short") : "");
  for (const [k, axis, g, [a, b], n] of [[0, f.rows, f.rg, shownRows(f), f.nr], [1, f.cols, f.cg, shownCols(f), f.nc]]) {
    const p = u.pans[k];
    p.box.hidden = b - a === axis.total;
    put(p.text, say(s, k ? "cols_part" : "rows_part", { a: a + 1, b, n: axis.total }));
    p.earlier.hidden = p.later.hidden = b - a === n;
    p.earlier.disabled = g.start <= g.lo; p.later.disabled = g.start + g.count >= g.hi;
    for (const name of ["earlier", "later"]) attr(p[name], "aria-label", say(s, name, { axis: axis.letter, symbol: f.label }));
  }
  u.scale.hidden = f.range[0] === f.range[1];
  put(u.scale, `${lo} … ${hi}`); attr(u.scale, "title", say(s, "shade", { lo, hi }));
  const home = u.pans.every((p) => !p.box.hidden) ? u.words : u.below;     // two windows fill the line below
  if (u.scale.parentNode !== home) home[home === u.words ? "append" : "prepend"](u.scale);
  u.words.hidden = !u.words.children.length;
}

function redraw(s) { drawEquation(s); s.lit = s.lit.filter((n) => n.isConnected); point(s); }

// ---- pointing ----

function cellAt(s, id, i, j) { const u = s.ui[id]; return u?.cells[i - u.i0]?.[j - u.j0]; }
function place(s, cell) { const u = s.ui[cell.at.id]; return { id: cell.at.id, i: u.i0 + cell.at.r, j: u.j0 + cell.at.c }; }
function current(s) {
  const pinned = s.pin && { id: s.pin.id, i: s.pin.row, j: s.pin.col };
  const at = s.hover ?? stepPlace(s) ?? s.focus ?? pinned;
  return at && s.frames[at.id] && has(s.frames[at.id], at.i, at.j) ? at : null;
}

// Only cells whose state changes are touched: the rest of a large page is not restyled.
function point(s) {
  const at = current(s), next = new Map();
  if (at) {
    const { backwards, found } = related(s, s.frames[at.id], at.i, at.j);
    for (const [f, i, j] of found) { const cell = cellAt(s, f.id, i, j); if (cell) next.set(cell, backwards ? "lit" : "feeds"); }
    const own = cellAt(s, at.id, at.i, at.j);
    if (own) next.set(own, "on");
  }
  for (const cell of s.lit) if (next.get(cell) !== cell.glow) { cell.classList.remove(cell.glow); cell.glow = ""; }
  for (const [cell, glow] of next) if (cell.glow !== glow) { cell.classList.add(glow); cell.glow = glow; }
  s.lit = [...next.keys()];
  drawDock(s, at);
}

// ---- the dock: the arithmetic in digits ----

function show(s, v) { return Number.isNaN(v) ? "?" : formatNumber(v, s.data.decimals); }
// What a reader of the printed digits gets: rounding to the printed decimals, halves away from zero.
function byHand(s, x) { return printed(formatNumber(x + Math.sign(x) * 1e-11 * Math.max(1, Math.abs(x)), s.data.decimals)); }

// In the arithmetic "⁀" is a space at which no line breaks: a number stays with its operator.
function joinTerms(s, terms) {
  const [most, first, last] = s.fit.stack ? [4, 2, 1] : [8, 3, 2];
  if (terms.length <= most) return terms.join(" +⁀");
  return [...terms.slice(0, first), "…", ...terms.slice(-last)].join(" +⁀") + ` (${say(s, "terms", { n: terms.length }).replace(/ /g, "⁀")})`;
}

// One step as { text, hand } where hand is what the printed digits give (NaN: not to be compared), or a missing part.
function stepOf(s, rule, f, i, j) {
  const F = s.frames, left = F[rule.left], right = F[rule.right];
  if (rule.op === "matmul") return productStep(s, rule, left, right, i, j);
  if (rule.op === "softmax") return softmaxStep(s, F[rule.in], i, j);
  if (REDUCES[rule.op]) return reductionStep(s, rule, F[rule.in], i);
  if (rule.op === "exp") {
    const x = value(F[rule.in], i, j), text = x === undefined ? "" : show(s, x);
    return x === undefined ? { missing: true } : { text: `e^(${text})`, hand: Math.exp(printed(text)) };
  }
  const a = value(rule.op === "scale" ? F[rule.in] : left, i, j);
  const b = rule.op === "scale" ? rule.divisor : value(right, rowOf(right, i), colOf(right, j));
  if (a === undefined || b === undefined) return { missing: true };
  const x = show(s, a), y = show(s, b), [p, q] = [printed(x), printed(y)];
  const [sign, hand] = { scale: ["÷", p / q], divide: ["÷", p / q], add: ["+", p + q], multiply: ["×", p * q] }[rule.op] ?? ["−", p - q];
  return { text: `${x}⁀${sign}⁀${inBrackets(y)}`, hand };
}

// A row brought down to one number: its largest, or its sum.
function reductionStep(s, rule, f, i) {
  if (f.nc < f.cols.total) return { missing: true };
  const row = cells(f.nc).map((c) => value(f, i, c + f.c0)), texts = row.map((v) => show(s, v));
  if (row.some(Number.isNaN)) return { text: "?", hand: NaN };
  if (rule.op === "rowmax") return { text: `max(${texts.join("; ")})`, hand: Math.max(...texts.map(printed)) };
  return { text: joinTerms(s, texts.map((t, k) => k ? inBrackets(t) : t)), hand: texts.reduce((sum, t) => sum + printed(t), 0) };
}

function productStep(s, rule, left, right, i, j) {
  const terms = [];
  let hand = 0;
  for (let d = 0; d < left.cols.total; d++) {
    const a = value(left, i, d), b = value(right, d, j + right.cs);
    if (a === undefined || b === undefined) return { missing: true };
    const x = show(s, a), y = show(s, b);
    terms.push(`${inBrackets(x)}×${inBrackets(y)}`);
    hand += printed(x) * printed(y);
  }
  if (rule.bias) {
    const b = show(s, value(s.frames[rule.bias], 0, j + s.frames[rule.bias].cs) ?? NaN);
    terms.push(inBrackets(b)); hand += printed(b);
  }
  return { text: joinTerms(s, terms), hand };
}

function softmaxStep(s, f, i, j) {
  if (f.nc < f.cols.total) return { missing: true };
  const row = cells(f.nc).map((c) => value(f, i, c + f.c0)), top = Math.max(...row);
  if (row.some(Number.isNaN)) return { text: "?", hand: NaN };
  if (top === -Infinity) return { text: say(s, "empty_row"), hand: NaN };
  const text = (v) => `e^(${show(s, v)}⁀−⁀${inBrackets(show(s, top))})`, power = (v) => Math.exp(v - top);
  const hand = (v) => Math.exp(printed(show(s, v)) - printed(show(s, top))), sum = (g) => row.reduce((t, v) => t + g(v), 0);
  const own = row[j - f.c0], parts = `${show(s, power(own))}⁀÷⁀${show(s, sum(power))}`;
  return { text: `${text(own)} ÷⁀(${joinTerms(s, row.map(text))}) =⁀${parts}`, hand: hand(own) / sum(hand) };
}

// The steps from the last product on: 0×2 + 1×1 = 1, then 1 ÷ 1.414 = 0.707.
function chain(s, f, i, j) {
  const rule = makerOf(s, f, i, j);
  if (!rule) return [];
  const before = s.frames[rule.op === "scale" ? rule.in : rule.op === "add" ? rule.left : ""];
  const inner = before && s.maker[before.id]?.op !== "softmax" ? chain(s, before, i, j) : [];
  const v = value(f, i, j), result = show(s, v);
  const own = Number.isNaN(v) ? { text: "?", hand: NaN } : stepOf(s, rule, f, i, j);
  const text = own.missing || own.text === "?" ? result : `${own.text} =⁀${result}`;
  const rounded = Number.isFinite(own.hand) && Number.isFinite(v) && byHand(s, own.hand) !== printed(result);
  return [...inner, { text, rounded, missing: own.missing }];
}

// Right-to-left tokens are isolated, so that they do not turn the sentence round.
function token(label) { return /[\u0590-\u08ff\ufb1d-\ufefc]/.test(label) ? `\u2068${label}\u2069` : label; }
function labelsAt(f, i, j) { return { i: i + 1, j: j + 1, a: f.rows.labels[i - f.r0], b: f.cols.labels[j - f.c0] }; }

function arithmetic(s, f, i, j) {
  const name = `${f.label}[${i + 1},${j + 1}]`, v = value(f, i, j), notes = [];
  if (isBlank(s, f, i, j)) return { main: name, notes: [say(s, "blank")] };
  if (Number.isNaN(v)) return { main: `${name} =⁀?`, notes: [s.data.hidden_note].filter(Boolean) };
  const steps = chain(s, f, i, j), at = labelsAt(f, i, j), named = at.a !== undefined && at.b !== undefined;
  let main = `${name} =⁀${steps.length ? steps[0].text : show(s, v)}`;
  if (steps.length > 1) {
    const asks = ["score", "weight", "mask"].includes(f.role) && f.rows.axis === "T" && f.cols.axis === "T";
    const who = asks ? say(s, named ? "asks_named" : "asks", { ...at, a: token(at.a ?? ""), b: token(at.b ?? "") }) + ": " : "";
    main = `${name}: ${who}${steps.map((step) => step.text).join(";  ")}`;
  }
  if (steps.some((step) => step.missing)) notes.push(say(s, "outside"));
  if (steps.some((step) => step.rounded)) notes.push(say(s, "rounded"));
  if (f.row_sums && f.nc === f.cols.total) notes.push(...rowNote(s, f, i));
  if (at.a !== undefined && steps.length < 2) notes.push(say(s, "row_named", { ...at, a: token(at.a) }));
  if (at.b !== undefined && steps.length < 2) notes.push(say(s, "col_named", { ...at, b: token(at.b) }));
  if (!steps.length) notes.push(...usesOf(s, f, i, j));
  if (isEdited(s, f, i, j)) notes.push(say(s, s.maker[f.id] ? "cut" : "edited"));
  else if (f.editable) notes.push(say(s, "edit_hint"));
  notes.push(say(s, "full", { value: fullValue(v) }));
  return { main, notes };
}

function usesOf(s, f, i, j) {
  const cellsOf = (rule) => {
    const symbol = s.frames[rule.out].label;
    if (rule.op === "softmax" || (rule.op === "matmul" && rule.left === f.id)) return say(s, "row_of", { symbol, i: i + 1 });
    if (rule.op === "matmul" || (rule.right === f.id && f.rows.total === 1)) return say(s, "col_of", { symbol, j: j - f.cs + 1 });
    return `${symbol}[${i + 1},${j + 1}]`;
  };
  const uses = (s.users[f.id] ?? []).map(cellsOf);
  return uses.length ? [say(s, "feeds", { cells: uses.join(" · ") })] : [];
}

function rowNote(s, f, i) {
  const row = cells(f.nc).map((c) => value(f, i, c + f.c0));
  if (row.some(Number.isNaN)) return [];
  const sum = show(s, rowSum(f, i)), hand = row.reduce((t, v) => t + printed(show(s, v)), 0);
  return byHand(s, hand) === printed(sum) ? [] : [say(s, "row_rounded", { hand: show(s, byHand(s, hand)), sum })];
}

function putMain(node, text) {
  if (node.dataset.text === text) return;
  node.dataset.text = text;
  node.replaceChildren();
  for (const part of text.split(/( )/)) {
    if (part.includes("⁀")) make("span", "tied", node).textContent = part.replaceAll("⁀", " "); else node.append(part);
  }
}

function drawDock(s, at) {
  const d = s.dock, f = at && s.frames[at.id];
  const { main, notes } = f ? arithmetic(s, f, at.i, at.j) : { main: "", notes: [say(s, "idle")] };
  const done = at && !s.hover && s.ticks[s.tick]?.done;
  if (done) notes.unshift(say(s, done, { symbol: f.label, i: at.i + 1 }));
  if (s.pin && at && pinKey(s.pin) === [at.id, at.i, at.j].join() && !s.fit.stack) notes.push(say(s, "pin_hint"));
  putMain(d.main, main); put(d.notes, notes.join("  ·  ")); put(d.alert, s.alert);
  attr(d.box, "aria-label", say(s, "dock"));
  d.unpin.hidden = !s.pin;
  put(d.unpin, `${say(s, "pinned")} ✕`); attr(d.unpin, "aria-label", say(s, "unpin"));
  d.revert.hidden = !(s.pin && f?.editable && isEdited(s, f, at.i, at.j) && s.pin.id === at.id && s.pin.row === at.i && s.pin.col === at.j);
  put(d.revert, say(s, "revert"));
  // It grows and does not shrink until the next drawing: shrinking would move what stands under the pointer.
  d.high = Math.max(d.high, d.box.offsetHeight);
  d.box.style.minHeight = d.high ? `min(${d.high}px, 40vh)` : "";
  d.box.tabIndex = d.box.scrollHeight > d.box.clientHeight + 1 ? 0 : -1;
}

// ---- pin ----

function setPin(s, pin) {
  s.pin = pin; s.alert = "";
  if (!pin) s.focus = s.hover = null;
  s.sentPins.push({ key: pinKey(pin), time: Date.now() });
  s.send("pin", pin && { id: pin.id, name: s.frames[pin.id].name, row: pin.row, col: pin.col });
  redraw(s);
}
function pinKey(pin) { return pin ? [pin.id, pin.row, pin.col].join() : ""; }

// Python echoes pins; an echo of an older one than the last sent must not move the pin back.
function takePin(s, fresh) {
  const key = pinKey(s.data.pin), echo = s.sentPins.findIndex((p) => p.key === key);
  if (echo >= 0) s.sentPins.splice(0, echo + 1);
  s.sentPins = s.sentPins.filter((p) => Date.now() - p.time < 3000);
  const news = key !== s.lastPin && echo < 0 && !s.sentPins.length;
  s.lastPin = key;
  if (fresh || news) { s.pin = s.data.pin; s.seek = true; }
  if (s.pin && !(s.frames[s.pin.id] && has(s.frames[s.pin.id], s.pin.row, s.pin.col))) s.pin = null;
}

// ---- editing ----

function startEdit(s, cell, text) {
  const { id, i, j } = place(s, cell), f = s.frames[id];
  if (!f.editable || Number.isNaN(value(f, i, j)) || s.editor?.cell === cell) return;
  closeEditor(s, true);
  s.alert = "";
  const input = make("input");
  input.value = text ?? fullValue(value(f, i, j));
  input.inputMode = "decimal"; input.autocomplete = "off"; input.maxLength = 32;
  input.setAttribute("aria-label", say(s, "editing", { symbol: f.label, i: i + 1, j: j + 1 }));
  s.editor = { cell, input, u: s.ui[id], id, i, j };
  input.onblur = () => closeEditor(s, true);
  input.onkeydown = (e) => {
    e.stopPropagation();
    if (e.key !== "Enter" && e.key !== "Escape") return;
    e.preventDefault();
    closeEditor(s, e.key === "Enter");
    cell.focus();
  };
  cell.replaceChildren(input);
  cell.key = "";                                          // to be written anew when the editor goes
  cell.classList.add("editing");
  input.focus();
  if (text === undefined) input.select();
}

function closeEditor(s, commit) {
  const e = s.editor;
  if (!e) return;
  s.editor = null;                                        // before the input goes, since that blurs it
  const f = s.frames[e.id], old = value(f, e.i, e.j), typed = e.input.value;
  e.cell.classList.remove("editing");
  e.input.remove();
  const v = commit ? parseNumber(typed) : old;
  if (v === null) s.alert = say(s, "refused", { text: typed.trim().slice(0, 24), symbol: f.label, i: e.i + 1, j: e.j + 1, value: show(s, old) });
  else if (commit && v !== Number(fullValue(old))) setEdit(s, f, e.i, e.j, v);
  redraw(s);
}

// v undefined takes the edit back; the number before it is known only to Python.
function setEdit(s, f, i, j, v) {
  const map = s.edits[f.name] = { ...s.edits[f.name] };
  if (v === undefined) delete map[editKey(f, i, j)]; else map[editKey(f, i, j)] = v;
  s.seq += 1;
  applyEdits(s);
  s.root.classList.add("waiting");
  clearTimeout(s.sendTimer);
  s.sendTimer = setTimeout(() => s.send("edits", { seq: s.seq, rev: s.rev, map: s.edits }), 25);
}

function applyEdits(s) {
  for (const f of s.order) if (f.editable) for (const [key, v] of Object.entries(s.edits[f.name] ?? {})) {
    const [a, b] = key.split(",").map(Number), [i, j] = f.transposed ? [b, a] : [a, b];
    if (has(f, i, j) && !Number.isNaN(value(f, i, j))) f.v[(i - f.r0) * f.nc + j - f.c0] = v;
  }
}

// The whole map goes back each time, so an echo that is older than the last edit only lacks some of ours.
function takeEdits(s, fresh) {
  if (fresh || s.data.seq >= s.seq) {
    s.edits = { ...s.data.edits }; s.seq = s.data.seq; s.rev = s.data.rev;
    if (fresh) clearTimeout(s.sendTimer);
  } else applyEdits(s);
  s.root.classList.toggle("waiting", s.data.seq < s.seq);
}

// ---- stepping: one cell, then its row, then all ----

function buildTicks(s) {
  s.ranks = {};
  s.ticks = [];
  for (const f of s.order) if (s.maker[f.id]) {
    const [i0, i1] = shownRows(f), [j0, j1] = shownCols(f), m = j1 - j0;
    const inside = s.pin?.id === f.id && cellAt(s, f.id, s.pin.row, s.pin.col);
    const [i, j] = inside ? [s.pin.row, s.pin.col] : [i0, j0];
    const row = cells(m).map((c) => c + j0).filter((c) => c !== j), rest = cells(i1 - i0).map((r) => r + i0).filter((r) => r !== i);
    s.ranks[f.id] = (r, c) => r !== i ? m + rest.indexOf(r) : c === j ? 0 : 1 + row.indexOf(c);
    const add = (limit, r, c, stop, wait, done) => s.ticks.push({ id: f.id, limit, i: r, j: c, stop, wait, done });
    // Of a long row only the first cells come singly, of many rows only the first: then the rest at once.
    const single = (list, most) => list.map((at, k) => [at, k]).filter(([, k]) => list.length <= most + 2 || k < most || k === list.length - 1);
    add(0, i, j, true, 1400, m > 1 ? "" : "row_done");
    for (const [c, k] of single(row, 3)) add(1 + k, i, c, k === m - 2, 1400, k === m - 2 ? "row_done" : "");
    for (const [r, k] of single(rest, 3)) add(m + k, r, j, k === rest.length - 1, 1200, k === rest.length - 1 ? "all_done" : "row_done");
  }
}
function stepPlace(s) { const t = s.tick === null ? null : s.ticks[s.tick]; return t && { id: t.id, i: t.i, j: t.j }; }
function isBlank(s, f, i, j) {
  if (s.tick === null || !s.ranks[f.id]) return false;
  const now = s.ticks[s.tick], order = Object.keys(s.ranks), a = order.indexOf(f.id), b = order.indexOf(now.id);
  return a > b || (a === b && s.ranks[f.id](i, j) > now.limit);
}
function stepTo(s, tick) {
  s.tick = tick !== null && tick >= 0 && tick < s.ticks.length ? tick : null;
  if (s.tick === null) stopPlaying(s);
  redraw(s);
  drawControls(s);
}
// The next or previous place to rest: a cell, its row, the whole frame.
function rest(s, direction) {
  if (s.tick === null) { buildTicks(s); return direction > 0 ? 0 : lastRest(s, s.ticks.length - 1); }
  let t = s.tick + direction;
  while (t >= 0 && t < s.ticks.length && !s.ticks[t].stop) t += direction;
  return direction < 0 ? Math.max(0, t) : t;
}
function lastRest(s, below) { let t = below - 1; while (t > 0 && !s.ticks[t].stop) t--; return t; }
function stopPlaying(s) { clearTimeout(s.playTimer); s.playTimer = 0; }
function advance(s, first) {
  const jump = matchMedia("(prefers-reduced-motion: reduce)").matches;
  stepTo(s, jump || first ? rest(s, 1) : s.tick + 1);
  if (s.tick !== null && !jump) s.playTimer = setTimeout(() => advance(s, false), s.ticks[s.tick].wait);
  drawControls(s);
}
function togglePlay(s) {
  if (s.playTimer) { stopPlaying(s); drawControls(s); } else advance(s, s.tick === null);
}

function drawControls(s) {
  const c = s.controls, playing = Boolean(s.playTimer), word = { back: "back", play: playing ? "pause" : "play", next: "next", skip: "skip" };
  const glyph = { back: "◁", play: playing ? "❚❚" : "▶", next: "▷", skip: "▷▷" };
  attr(c.steps, "aria-label", say(s, "steps")); attr(c.files, "aria-label", say(s, "export"));
  c.steps.hidden = !s.data.rules.length;
  for (const name in word) { put(c[name].firstChild, glyph[name]); put(c[name].lastChild, say(s, word[name])); }
  c.back.disabled = s.tick === 0; c.skip.disabled = s.tick === null;
  put(c.svg, "SVG"); attr(c.svg, "aria-label", say(s, "svg")); attr(c.svg, "title", say(s, "svg"));
  while (c.files.children.length > s.order.length + 1) c.files.lastChild.remove();
  s.order.forEach((f, k) => {
    const node = c.files.children[k + 1] ?? button(c.files, "quiet", () => saveCsv(s, s.order[k]));
    put(node, `CSV ${f.label}`); attr(node, "aria-label", say(s, "csv", { symbol: f.label })); attr(node, "title", say(s, "csv", { symbol: f.label }));
  });
}

// ---- downloads ----

function save(name, type, text) {
  const link = make("a"), url = URL.createObjectURL(new Blob([text], { type }));
  link.href = url; link.download = name; link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
function saveCsv(s, f) {
  const text = (v) => Number.isNaN(v) ? "" : fullValue(v).replace("−", "-").replace("∞", "inf");
  save(`${f.name}.csv`, "text/csv", cells(f.nr).map((r) => [...f.v.subarray(r * f.nc, (r + 1) * f.nc)].map(text).join()).join("\n") + "\n");
}

// The equation as it stands on screen: every filled box, bracket and piece of text at its place.
function saveSvg(s) {
  const box = s.eq.getBoundingClientRect(), ink = getComputedStyle(s.root).color, parts = [];
  const esc = (t) => t.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`), at = (x, y) => `x="${(x - box.x).toFixed(1)}" y="${(y - box.y).toFixed(1)}"`;
  for (const node of s.eq.querySelectorAll(".cell")) {
    const r = node.getBoundingClientRect(), size = `width="${r.width.toFixed(1)}" height="${r.height.toFixed(1)}"`;
    parts.push(`<rect ${at(r.x, r.y)} ${size} ${svgFill(getComputedStyle(node).backgroundColor)}/>`);
    if (node.classList.contains("ninf")) parts.push(`<rect ${at(r.x, r.y)} ${size} fill="url(#hatch)"/>`);
  }
  for (const node of s.eq.querySelectorAll(".grid")) {
    const r = node.getBoundingClientRect(), [x, y, X, Y] = [r.x - box.x, r.y - box.y, r.right - box.x, r.bottom - box.y];
    parts.push(`<path d="M${x + 6} ${y}H${x}V${Y}H${x + 6}M${X - 6} ${y}H${X}V${Y}H${X - 6}" fill="none" stroke="${ink}"/>`);
  }
  const walk = document.createTreeWalker(s.eq, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (walk.nextNode()) {
    const node = walk.currentNode, style = getComputedStyle(node.parentNode);
    range.selectNodeContents(node);
    const r = range.getBoundingClientRect();
    if (!r.width || node.parentNode.closest("button")) continue;
    const room = node.parentNode.closest(".label")?.getBoundingClientRect() ?? r, cut = r.width > room.width + 1;
    const text = cut ? node.data.slice(0, Math.max(1, Math.floor(node.length * room.width / r.width) - 1)) + "…" : node.data;
    const place = `${at(cut ? room.x : r.x, r.y + r.height * 0.77)} textLength="${Math.min(r.width, room.width).toFixed(1)}" lengthAdjust="spacingAndGlyphs"`;
    parts.push(`<text ${place} font-family="${esc(style.fontFamily)}" font-size="${style.fontSize}" font-weight="${style.fontWeight}" ${svgFill(style.color)}>${esc(text)}</text>`);
  }
  const hatch = `<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M0 5L5 0" stroke="${ink}" stroke-opacity=".35"/></pattern></defs>`;
  const size = `width="${box.width}" height="${box.height}"`, ground = getComputedStyle(s.root).getPropertyValue("--st-background-color") || "#fff";
  save("equation.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${box.width} ${box.height}">${hatch}<rect ${size} fill="${esc(ground)}"/>${parts.join("")}</svg>`);
}
// A computed colour, which may be color(srgb r g b / a), in what SVG readers know.
function svgFill(colour) {
  const n = colour.match(/-?[\d.]+(e-?\d+)?/g).map(Number), unit = colour.startsWith("color") ? 255 : 1;
  return `fill="rgb(${n.slice(0, 3).map((v) => Math.round(v * unit)).join()})" fill-opacity="${n[3] ?? 1}"`;
}

// ---- the outline of the page part, and its events ----

function mount(parentElement) {
  const root = parentElement.querySelector(".equation");
  const s = { root, parent: parentElement, ui: {}, lit: [], edits: {}, seq: 0, sentPins: [], tick: null, ticks: [], ranks: {}, alert: "", pin: null, hover: null, focus: null, width: 0 };
  root.replaceChildren();
  s.eq = make("div", "eq", root);
  s.fits = make("div", "fits", root);
  const dock = make("div", "dock", root), box = make("div", "dock-text", dock), side = make("div", "dock-side", dock);
  box.setAttribute("role", "status");
  s.dock = { box, high: 0, alert: make("div", "alert", box), main: make("div", "main", box), notes: make("div", "notes", box) };
  s.dock.alert.setAttribute("role", "alert");
  s.dock.unpin = button(side, "quiet unpin", () => setPin(s, null));
  s.dock.revert = button(side, "quiet", () => { const p = s.pin; setEdit(s, s.frames[p.id], p.row, p.col); redraw(s); });
  const bar = make("div", "bar", root), steps = make("div", "steps", bar), files = make("div", "files", bar);
  s.controls = { steps, files };
  for (const node of [steps, files]) node.setAttribute("role", "group");
  const acts = { back: () => { stopPlaying(s); stepTo(s, rest(s, -1)); }, play: () => togglePlay(s), next: () => { stopPlaying(s); stepTo(s, rest(s, 1)); }, skip: () => stepTo(s, null) };
  for (const name in acts) { const b = s.controls[name] = button(steps, "quiet", acts[name]); make("span", "glyph", b).setAttribute("aria-hidden", "true"); make("span", "", b); }
  s.controls.svg = button(files, "quiet", () => saveSvg(s));
  listen(s);
  return s;
}

function listen(s) {
  const cellOf = (e) => e.target.closest?.(".cell");
  s.eq.onpointerover = (e) => { const cell = cellOf(e); if (cell && e.pointerType !== "touch") { s.hover = place(s, cell); point(s); } };
  s.eq.onpointerleave = () => { if (s.hover) { s.hover = null; point(s); } };
  s.eq.onclick = (e) => {
    const cell = cellOf(e);
    if (!cell || s.editor?.cell === cell) return;
    const { id, i, j } = place(s, cell);
    if (pinKey(s.pin) === [id, i, j].join()) startEdit(s, cell);                       // a second click or tap
    else setPin(s, { id, row: i, col: j });
  };
  s.eq.ondblclick = (e) => { const cell = cellOf(e); if (cell) startEdit(s, cell); };
  s.eq.addEventListener("focusin", (e) => { const cell = cellOf(e); if (cell && e.target === cell) { rove(s, cell); s.focus = place(s, cell); point(s); } });
  s.eq.addEventListener("focusout", (e) => { if (!e.relatedTarget?.closest?.(".cell")) { s.focus = null; point(s); } });
  s.eq.onkeydown = (e) => { const cell = cellOf(e); if (cell) onCellKey(s, cell, e); };
  s.onEscape = (e) => {
    const here = document.activeElement === document.body || document.activeElement === (s.parent.host ?? s.root) || s.root.contains(document.activeElement);
    if (e.key === "Escape" && s.pin && here && !e.defaultPrevented) setPin(s, null);
  };
  document.addEventListener("keydown", s.onEscape);
  s.observer = new ResizeObserver(() => {
    const width = Math.floor(s.root.clientWidth);
    if (s.data && width && width !== s.width) { s.width = width; refit(s); }
  });
  s.observer.observe(s.root);
  s.onFonts = () => { if (s.data) { characterWidth(s); refit(s); } };                // the code font may come late
  document.fonts.addEventListener("loadingdone", s.onFonts);
  s.onHeight = () => {                                    // on a phone the height changes while one scrolls
    if (!s.data || s.height === innerHeight) return;
    if (s.fit.stack) point(s); else refit(s);
  };
  addEventListener("resize", s.onHeight);
}

function rove(s, cell) {
  for (const other of s.ui[cell.at.id].cells.flat()) if (other.tabIndex === 0) other.tabIndex = -1;
  cell.tabIndex = 0;
}

function onCellKey(s, cell, e) {
  const { id, i, j } = place(s, cell), f = s.frames[id];
  const to = { ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1], Home: [i, f.c0], End: [i, f.c0 + f.nc - 1] }[e.key];
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (to) { e.preventDefault(); moveFocus(s, f, ...to); return; }
  if (f.editable && (e.key === "Delete" || e.key === "Backspace") && isEdited(s, f, i, j)) { e.preventDefault(); setEdit(s, f, i, j); redraw(s); return; }
  if (f.editable && /^[-−+.\d]$/.test(e.key)) { e.preventDefault(); startEdit(s, cell, e.key); return; }
  if (f.editable && (e.key === "Enter" || e.key === "F2")) { e.preventDefault(); startEdit(s, cell); return; }
  if (e.key === "Enter" || e.key === " ") { e.preventDefault(); setPin(s, { id, row: i, col: j }); }
}

function moveFocus(s, f, i, j) {
  if (!has(f, i, j)) return;
  const before = [f.rg.start, f.cg.start].join();
  bringIntoView(f.rg, i); bringIntoView(f.cg, j - f.cs);
  if (before !== [f.rg.start, f.cg.start].join()) drawEquation(s);
  s.alert = "";
  s.hover = null;
  cellAt(s, f.id, i, j)?.focus();
}

// A new width or new data can change what is on screen; the focus stays on the same number.
function refit(s) {
  const focus = s.focus;
  fit(s);
  s.height = innerHeight; s.dock.high = 0; s.dock.box.style.minHeight = "";
  for (const at of s.seek ? [s.pin && { id: s.pin.id, i: s.pin.row, j: s.pin.col }, focus] : []) if (at) {
    const f = s.frames[at.id];
    bringIntoView(f.rg, at.i); bringIntoView(f.cg, at.j - f.cs);
  }
  s.seek = false;
  redraw(s);
  const cell = focus && !s.editor && cellAt(s, focus.id, focus.i, focus.j);
  if (cell && cell !== s.parent.activeElement) cell.focus({ preventScroll: true });
}

function takeData(s, data) {
  const fresh = !s.data || data.rev !== s.data.rev, structure = (d) => d && JSON.stringify([d.rules, d.frames.map((f) => [f.id, f.name, f.rows, f.cols])]);
  const same = structure(data) === structure(s.data);
  s.data = data;
  s.order = data.frames.map(decode);
  s.frames = Object.fromEntries(s.order.map((f) => [f.id, f]));
  s.maker = {}; s.users = {};
  for (const rule of data.rules) {
    s.maker[rule.out] = rule;
    for (const id of [rule.in, rule.left, rule.right, rule.bias]) if (id) (s.users[id] ??= new Set()).add(rule);
  }
  for (const id in s.users) s.users[id] = [...s.users[id]];
  if (!same) { s.seek = true; stopPlaying(s); s.tick = null; s.hover = null; if (s.focus && !s.frames[s.focus.id]) s.focus = null; }
  if (s.editor && !s.frames[s.editor.id]) s.editor = null;
  takeEdits(s, fresh);
  takePin(s, fresh);
}

function themeOf(s) {
  const [r, g, b] = getComputedStyle(s.root).color.match(/[\d.]+/g).map(Number);
  s.root.classList.toggle("dark", 0.2126 * r + 0.7152 * g + 0.0722 * b > 128);      // light text: a dark page
}
function characterWidth(s) {
  const probe = make("span", "probe", s.root);
  probe.textContent = "0".repeat(20);
  s.ch = probe.getBoundingClientRect().width / 20 / parseFloat(getComputedStyle(probe).fontSize) || 0.6;
  probe.remove();
}

const STATES = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  let s = STATES.get(parentElement);
  if (!s) STATES.set(parentElement, s = mount(parentElement));
  s.send = setStateValue;
  takeData(s, data);
  groupAxes(s);
  themeOf(s);
  characterWidth(s);
  measureText(s);
  s.width = Math.floor(s.root.clientWidth) || s.width || 1000;
  refit(s);
  drawControls(s);
  return () => {
    s.observer.disconnect();
    document.removeEventListener("keydown", s.onEscape);
    document.fonts.removeEventListener("loadingdone", s.onFonts);
    removeEventListener("resize", s.onHeight);
    stopPlaying(s); clearTimeout(s.sendTimer);
    STATES.delete(parentElement);
  };
}
