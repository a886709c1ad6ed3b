// What a cell was made from, and what was made from it.

import { has, isEdited, makerOf } from "./frames.js";
import { operationOf } from "./operations.js";
import { bringBoth } from "./windows.js";
/** @import { Frame, Place, Related, State } from "./types.d.ts" */

/**
 * Everything the cell was made from, or for a given cell everything made from it: [[frame, i, j]…] without itself.
 * @param {State} s
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 * @returns {Related}
 */
export function related(s, f, i, j) {
  const maker = makerOf(s, f, i, j), backwards = Boolean(maker && !operationOf(maker).given);
  /** @type {Related["found"]} */
  const found = [], todo = /** @type {Related["found"]} */ ([[f, i, j]]);
  const touched = /** @type {[Frame, number][]} */ ([]), lines = new Set();
  const cell = (g, r, c) => {
    if (!has(g, r, c)) return;
    const k = (r - g.r0) * g.nc + c - g.c0;
    if (g.mark[k] || (!backwards && isEdited(s, g, r, c))) return;
    g.mark[k] = 1;
    touched.push([g, k]);
    todo.push([g, r, c]);
    found.push([g, r, c]);
  };
  const once = (line) => !lines.has(line) && lines.add(line); // many cells are made from one row
  const to = {
    cell,
    row: (g, r) => {
      if (once(`${g.id} r${r}`)) { for (let c = g.c0; c < g.c0 + g.nc; c++) cell(g, r, c); }
    },
    column: (g, c) => {
      if (once(`${g.id} c${c}`)) { for (let r = g.r0; r < g.r0 + g.nr; r++) cell(g, r, c); }
    },
  };
  while (todo.length) {
    const [g, r, c] = todo.pop();
    if (backwards) {
      const rule = makerOf(s, g, r, c);
      if (rule) operationOf(rule).sources(s, rule, r, c, to);
    } else for (const rule of s.users[g.id] ?? []) operationOf(rule).uses(s, rule, g, r, c, to);
  }
  for (const [g, k] of touched) g.mark[k] = 0;
  return { backwards, found };
}

/**
 * Brings into view where the number at a place came from or goes to, where the windows of these frames do not run
 * together.
 * @param {State} s
 * @param {Place} at
 */
export function bringAlong(s, { id, i, j }) {
  const rule = s.maker[id], rules = [...(rule ? [rule] : []), ...(s.users[id] ?? [])];
  if (rules.some((one) => operationOf(one).scatters)) {
    for (const [g, r, c] of related(s, s.frames[id], i, j).found) bringBoth(g, r, c);
  }
  const along = rule && operationOf(rule).along?.(s, rule, i, j);
  if (along) bringBoth(...along);
}

/**
 * Brings the row that a cell was read from into the window of the table.
 * @param {State} s
 * @param {Place} at
 */
export function follow(s, at) {
  const rule = at && s.maker[at.id], read = rule && operationOf(rule).follow?.(s, rule, at.i, at.j);
  if (read && has(...read)) bringBoth(...read);
}
