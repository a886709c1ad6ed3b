// The same numbers in another shape: a reshape, a view, or the first two axes exchanged.

import { value } from "../frames.js";
import { placeName } from "../words.js";
/** @import { Operation, Rule, State } from "../types.d.ts" */

/**
 * A flat place in [n, m, w] as the flat place of the same number in [m, n, w].
 * @param {number} flat
 * @param {number} n
 * @param {number} m
 * @param {number} w
 */
function exchanged(flat, n, m, w) {
  return (Math.floor(flat / w) % m * n + Math.floor(flat / (m * w))) * w + flat % w;
}

/**
 * (i, j) of out comes from this place of its source: the same place in memory, or with the first two axes exchanged.
 * @param {State} s
 * @param {Rule} rule
 * @param {number} i
 * @param {number} j
 * @returns {[number, number]}
 */
function movedFrom(s, rule, i, j) {
  const wide = s.frames[rule.in].cols.total;
  let flat = i * s.frames[rule.out].cols.total + j;
  if (rule.swapped) {
    const [n, m, w] = rule.swapped;
    flat = exchanged(flat, m, n, w);
  }
  return [Math.floor(flat / wide), flat % wide];
}

/**
 * @param {State} s
 * @param {Rule} rule
 * @param {number} i
 * @param {number} j
 * @returns {[number, number]}
 */
function movedTo(s, rule, i, j) {
  const wide = s.frames[rule.out].cols.total;
  let flat = i * s.frames[rule.in].cols.total + j;
  if (rule.swapped) {
    const [n, m, w] = rule.swapped;
    flat = exchanged(flat, n, m, w);
  }
  return [Math.floor(flat / wide), flat % wide];
}

/**
 * The places that a number had before it was moved here, the last move first.
 * @param {State} s
 * @param {Rule} rule
 * @param {number} i
 * @param {number} j
 * @returns {string[]}
 */
function trail(s, rule, i, j) {
  const [r, c] = movedFrom(s, rule, i, j), before = s.maker[rule.in];
  return [placeName(s.frames[rule.in], r, c), ...(before?.op === rule.op ? trail(s, before, r, c) : [])];
}

/** @type {Operation} */
export const move = {
  scatters: true,
  reads: (rule) => [rule.in],
  sources(s, rule, i, j, to) {
    const [r, c] = movedFrom(s, rule, i, j);
    to.cell(s.frames[rule.in], r, c);
  },
  uses(s, rule, _f, i, j, to) {
    const [r, c] = movedTo(s, rule, i, j);
    to.cell(s.frames[rule.out], r, c);
  },
  axes() {}, // no axis of the one is an axis of the other
  step: (s, rule, i, j) => ({ text: trail(s, rule, i, j).join(" =⁀"), hand: value(s.frames[rule.out], i, j) }),
  used(s, rule, _f, i, j) {
    const [r, c] = movedTo(s, rule, i, j);
    return placeName(s.frames[rule.out], r, c);
  },
};
