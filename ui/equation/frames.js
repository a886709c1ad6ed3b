// Frames and rules: what is where, what a cell was made from, and the windows on axes that run together.
// Indices (i, j) count from 0 over the whole axis; a frame holds the window [r0, r0+nr) × [c0, c0+nc) of it and
// shows the part of that window on which its axis groups stand.

import { eachRead, eachReader } from "./lookup.js";
import { ANGLE, joinTurn, turnSources, turnUses } from "./rotation.js";
import { eachGroupedSource, eachGroupedUse, movedFrom, movedTo } from "./reshape.js";

export const REDUCES = { rowmax: true, rowsum: true };            // rules that make one column out of rows

export function floats(base64) { return new Float32Array(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer); }
export function decode(frame) {
  const nr = frame.rows.size, nc = frame.cols.size, v = floats(frame.values);
  for (const [r, c] of frame.hidden) v[r * nc + c] = NaN;
  return { ...frame, v, nr, nc, r0: frame.rows.offset, c0: frame.cols.offset, cs: 0, mark: new Uint8Array(nr * nc) };
}
export function has(f, i, j) { return i >= f.r0 && i < f.r0 + f.nr && j >= f.c0 && j < f.c0 + f.nc; }
export function value(f, i, j) { return has(f, i, j) ? f.v[(i - f.r0) * f.nc + j - f.c0] : undefined; }
// Rows that were brought together, and rows and columns that count from 0, have numbers of their own.
export function numberOn(axis, at) { return axis.places ? axis.places[at - axis.offset] : at + 1; }
export function rowNumber(f, i) { return numberOn(f.rows, i); }
export function colNumber(f, j) { return numberOn(f.cols, j); }
function rowKey(f, i) { return f.rows.places ? rowNumber(f, i) : i; }
export function rowAt(f, key) {
  if (!f.rows.places) return key;
  const k = f.rows.places.indexOf(key);
  return k < 0 ? k : f.r0 + k;
}
export function editKey(f, i, j) { return f.transposed ? `${j},${i}` : `${rowKey(f, i)},${j}`; }
export function isEdited(s, f, i, j) { return s.edits[f.name]?.[editKey(f, i, j)] !== undefined; }
// A row of a cache, or a column of its transpose: new in this step; allocated, but holding nothing yet.
export function isFresh(f, i, j) { return f.fresh !== null && !isUnwritten(f, i, j) && (f.transposed ? j : i) >= f.fresh[0]; }
export function isUnwritten(f, i, j) { return f.filled !== null && (f.transposed ? j : i) >= f.filled; }
// What made the cell: a cell that was edited by hand does not follow its frame's rule.
export function makerOf(s, f, i, j) { return isEdited(s, f, i, j) ? undefined : s.maker[f.id]; }
export function colOf(f, j) { return f.cols.total === 1 ? 0 : j; }        // and a one-column operand every column
export function rowOf(f, i) { return f.rows.total === 1 ? 0 : i; }        // a one-row operand serves every row

// What a rule reads for out[i, j]: single cells, whole rows and whole columns, each given to `to`.
function eachSource(s, rule, i, j, to) {
  const F = s.frames, left = F[rule.left], right = F[rule.right], source = F[rule.in];
  if (rule.op === "matmul") {
    to.row(left, i);
    to.column(right, j + right.cs);
    if (rule.bias) to.cell(F[rule.bias], 0, j + F[rule.bias].cs);
  } else if (rule.op === "lookup") eachRead(left, right, i, j, to);
  else if (rule.op === "rotate") turnSources(s, rule, i, j, to);
  else if (ANGLE[rule.op]) return;
  else if (rule.op === "grouped") eachGroupedSource(s, rule, i, j, to);
  else if (rule.op === "move") to.cell(source, ...movedFrom(s, rule, i, j));
  else if (rule.op === "softmax" || REDUCES[rule.op]) to.row(source, i);
  else if (rule.op === "transpose") to.cell(source, j, i);
  else if (rule.op === "append") to.cell(...appended(left, right, i), j);
  else if (source) to.cell(source, i, j);
  else { to.cell(left, i, j); to.cell(right, rowOf(right, i), colOf(right, j)); }
}

// The frame and the row that row i was copied from.
function appended(left, right, i) { return i < left.rows.total ? [left, i] : [right, i - left.rows.total]; }

// What a rule makes from (i, j) of frame f, in the same form.
export function eachUse(s, rule, f, i, j, to) {
  const out = s.frames[rule.out];
  if (rule.op === "matmul") {
    if (rule.left === f.id) to.row(out, i);
    if (rule.right === f.id || rule.bias === f.id) to.column(out, j - f.cs);
  } else if (rule.op === "lookup") eachReader(s, rule, f, i, j, to);
  else if (rule.op === "rotate") for (const use of turnUses(s, rule, f, i, j)) to.cell(...use);
  else if (rule.op === "grouped") eachGroupedUse(s, rule, f, i, j, to);
  else if (rule.op === "move") to.cell(out, ...movedTo(s, rule, i, j));
  else if (rule.op === "softmax") to.row(out, i);
  else if (REDUCES[rule.op]) to.cell(out, i, 0);
  else if (rule.op === "transpose") to.cell(out, j, i);
  else if (rule.op === "append") to.cell(out, rule.left === f.id ? i : i + s.frames[rule.left].rows.total, j);
  else if (rule.right === f.id && f.rows.total === 1 && out.rows.total !== 1) to.column(out, j);
  else if (rule.right === f.id && f.cols.total === 1) to.row(out, i);
  else to.cell(out, i, j);
}

// Everything the cell was made from, or for a given cell everything made from it: [[frame, i, j]…] without itself.
export function related(s, f, i, j) {
  const maker = makerOf(s, f, i, j), backwards = Boolean(maker && !ANGLE[maker.op]), found = [], todo = [[f, i, j]], touched = [], lines = new Set();
  const cell = (g, r, c) => {
    if (!has(g, r, c)) return;
    const k = (r - g.r0) * g.nc + c - g.c0;
    if (g.mark[k] || (!backwards && isEdited(s, g, r, c))) return;
    g.mark[k] = 1; touched.push(g, k); todo.push([g, r, c]); found.push([g, r, c]);
  };
  const once = (line) => !lines.has(line) && lines.add(line);              // many cells are made from one row
  const to = {
    cell,
    row: (g, r) => { if (once(`${g.id} r${r}`)) for (let c = g.c0; c < g.c0 + g.nc; c++) cell(g, r, c); },
    column: (g, c) => { if (once(`${g.id} c${c}`)) for (let r = g.r0; r < g.r0 + g.nr; r++) cell(g, r, c); },
  };
  while (todo.length) {
    const [g, r, c] = todo.pop();
    if (backwards) { const rule = makerOf(s, g, r, c); if (rule) eachSource(s, rule, r, c, to); }
    else for (const rule of s.users[g.id] ?? []) eachUse(s, rule, g, r, c, to);
  }
  for (let k = 0; k < touched.length; k += 2) touched[k].mark[touched[k + 1]] = 0;
  return { backwards, found };
}

// Axes that run together (rows of Q with rows of QKᵀ, columns of Q with rows of Kᵀ) share one window.
export function groupAxes(s) {
  const parent = {}, find = (k) => (parent[k] ??= k) === k ? k : (parent[k] = find(parent[k]));
  const join = (a, b) => { parent[find(a)] = find(b); };
  for (const r of s.data.rules) {
    if (r.op === "matmul") {
      join(r.left + "/r", r.out + "/r"); join(r.right + "/c", r.out + "/c"); join(r.left + "/c", r.right + "/r");
      if (r.bias) join(r.bias + "/c", r.out + "/c");
    } else if (r.op === "lookup" || r.op === "grouped") { join(r.left + "/r", r.out + "/r"); join(r.right + "/c", r.out + "/c"); }
    else if (r.op === "move") continue;                                  // no axis of the one is an axis of the other
    else if (r.op === "transpose") { join(r.in + "/r", r.out + "/c"); join(r.in + "/c", r.out + "/r"); }
    else if (r.op === "append") { for (const g of [r.left, r.right]) join(g + "/c", r.out + "/c"); }
    else if (r.op === "rotate") joinTurn(r, join);
    else for (const g of [r.in, r.left, r.right]) if (g) {
      if (s.frames[g].cols.total === s.frames[r.out].cols.total) join(g + "/c", r.out + "/c");
      if (s.frames[g].rows.total !== 1 || s.frames[r.out].rows.total === 1) join(g + "/r", r.out + "/r");
    }
  }
  shiftBlocks(s);
  const summed = new Set(s.data.rules.filter((r) => r.op === "matmul").map((r) => find(r.left + "/c")));
  const old = s.groups ?? {};
  s.groups = {};
  for (const f of s.order) for (const [side, lo, n, axis] of [["r", f.r0, f.nr, f.rows], ["c", f.c0 - f.cs, f.nc, f.cols]]) {
    const key = find(f.id + "/" + side);
    const g = s.groups[key] ??= {
      key, lo, hi: lo + n, total: axis.total, axis: axis.axis, start: old[key]?.start ?? lo, count: old[key]?.count ?? 0,
      cols: false, inner: summed.has(key), most: Infinity,
    };
    g.lo = Math.min(g.lo, lo); g.hi = Math.max(g.hi, lo + n); g.cols ||= side === "c";
    if (side === "c" && f.most_cols) g.most = Math.min(g.most, f.most_cols);
    if (axis.total <= g.total) { g.total = axis.total; g.axis = axis.axis; }    // a block's own columns, not all heads'
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
export function part(lo, n, start, count) { return [Math.max(lo, start), Math.min(lo + n, start + count)]; }
export function shownRows(f) { return part(f.r0, f.nr, f.rg.start, f.rg.count); }
export function shownCols(f) { return part(f.c0, f.nc, f.cg.start + f.cs, f.cg.count); }
export function moveWindow(g, start) { g.start = Math.max(g.lo, Math.min(start, g.hi - g.count)); }
function clamp(x, low, high) { return Math.max(low, Math.min(x, high)); }

// Shows the window from `start` on. What was not sent is asked for; what is on screen stays until it comes. True if the
// window is there.
export function pan(s, g, start) {
  const at = clamp(start, 0, g.total - g.count), sent = g.hi - g.lo;
  s.wanted = null;
  if (at >= g.lo && at + g.count <= g.hi) { moveWindow(g, at); return true; }
  const middle = 16 * Math.round((at + (g.count - sent) / 2) / 16);
  s.wanted = { key: g.key, start: at };
  s.windows = { ...s.windows, [g.axis]: clamp(middle, 0, g.total - sent) };
  s.root.classList.add("waiting");
  s.send("window", s.windows);
  return false;
}
// The window that was asked for is on screen as soon as it is there; anything else that comes ends the waiting.
export function takeWindow(s) {
  const g = s.wanted && s.groups[s.wanted.key];
  if (g && s.wanted.start >= g.lo && s.wanted.start < g.hi) { g.start = s.wanted.start; s.focus = s.wanted.focus ?? s.focus; }
  s.wanted = null;
}
function bringIntoView(g, at) {
  if (at < g.start) moveWindow(g, at);
  else if (at >= g.start + g.count) moveWindow(g, at - g.count + 1);
}
export function bringBoth(f, i, j) { bringIntoView(f.rg, i); bringIntoView(f.cg, j - f.cs); }
export function canPan(f) { return f.rg.count < f.rg.total || f.cg.count < f.cg.total; }
