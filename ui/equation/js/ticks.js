// The places at which stepping rests: one cell, then its row, then all.

import { cells } from "./numbers.js";
import { shownCols, shownRows } from "./windows.js";
/** @import { Frame, State } from "./types.d.ts" */

/** @param {State} s */
function buildTicks(s) {
  s.ranks = {};
  s.ticks = [];
  for (const f of s.order) {
    if (s.maker[f.id]) {
      const [i0, i1] = shownRows(f), [j0, j1] = shownCols(f), m = j1 - j0;
      const inside = s.pin?.id === f.id && s.pin.row >= i0 && s.pin.row < i1 && s.pin.col >= j0 && s.pin.col < j1;
      const [i, j] = inside ? [s.pin.row, s.pin.col] : [i0, j0];
      const row = cells(m).map((c) => c + j0).filter((c) => c !== j),
        rest = cells(i1 - i0).map((r) => r + i0).filter((r) => r !== i);
      s.ranks[f.id] = (r, c) => r !== i ? m + r - i0 - Number(r > i) : c === j ? 0 : 1 + c - j0 - Number(c > j);
      const add = (limit, r, c, stop, wait, done) => s.ticks.push({ id: f.id, limit, i: r, j: c, stop, wait, done });
      // Of a long row only the first cells come singly, of many rows only the first: then the rest at once.
      const single = (list, most) =>
        list.map((at, k) => [at, k]).filter(([, k]) => list.length <= most + 2 || k < most || k === list.length - 1);
      add(0, i, j, true, 1400, m > 1 ? "" : "row_done");
      for (const [c, k] of single(row, 3)) add(1 + k, i, c, k === m - 2, 1400, k === m - 2 ? "row_done" : "");
      for (const [r, k] of single(rest, 3)) {
        add(m + k, r, j, k === rest.length - 1, 1200, k === rest.length - 1 ? "all_done" : "row_done");
      }
    }
  }
}

/** @param {State} s */
export function stepPlace(s) {
  const t = s.tick === null ? null : s.ticks[s.tick];
  return t && { id: t.id, i: t.i, j: t.j };
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function isBlank(s, f, i, j) {
  if (s.tick === null || !s.ranks[f.id]) return false;
  const now = s.ticks[s.tick], order = Object.keys(s.ranks), a = order.indexOf(f.id), b = order.indexOf(now.id);
  return a > b || (a === b && s.ranks[f.id](i, j) > now.limit);
}

/**
 * The next or previous place to rest: a cell, its row, the whole frame.
 * @param {State} s
 * @param {number} direction
 */
export function rest(s, direction) {
  if (s.tick === null) {
    buildTicks(s);
    return direction > 0 ? 0 : lastRest(s, s.ticks.length - 1);
  }
  let t = s.tick + direction;
  while (t >= 0 && t < s.ticks.length && !s.ticks[t].stop) t += direction;
  return direction < 0 ? Math.max(0, t) : t;
}

/**
 * @param {State} s
 * @param {number} below
 */
function lastRest(s, below) {
  let t = below - 1;
  while (t > 0 && !s.ticks[t].stop) t--;
  return t;
}
