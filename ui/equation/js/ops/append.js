// The rows of a cache, and below them those computed now.

import { say } from "../dom.js";
import { value } from "../frames.js";
import { placed, taken } from "../operation.js";
/** @import { Frame, Operation, Rule, State } from "../types.d.ts" */

/**
 * The frame and the row that row i was copied from.
 * @param {State} s
 * @param {Rule} rule
 * @param {number} i
 */
function copiedFrom(s, rule, i) {
  const cached = s.frames[rule.left], count = cached.rows.total;
  return i < count
    ? { from: cached, row: i, note: "cached" }
    : { from: s.frames[rule.right], row: i - count, note: "computed" };
}

/**
 * The row that row i of frame f became.
 * @param {State} s
 * @param {Rule} rule
 * @param {Frame} f
 * @param {number} i
 */
function copiedTo(s, rule, f, i) {
  return rule.left === f.id ? i : i + s.frames[rule.left].rows.total;
}

/** @type {Operation} */
export const append = {
  reads: (rule) => [rule.left, rule.right],
  sources(s, rule, i, j, to) {
    const { from, row } = copiedFrom(s, rule, i);
    to.cell(from, row, j);
  },
  uses: (s, rule, f, i, j, to) => to.cell(s.frames[rule.out], copiedTo(s, rule, f, i), j),
  axes(_s, rule, join) {
    for (const id of [rule.left, rule.right]) join(id + "/c", rule.out + "/c");
  },
  step(s, rule, i, j) {
    const { from, row, note } = copiedFrom(s, rule, i);
    return taken(from, row, j, value(s.frames[rule.out], i, j), say(s, note));
  },
  used: (s, rule, f, i, j) => placed(s.frames[rule.out], copiedTo(s, rule, f, i), j),
};
