// Pairs of columns that turn together, and how angles are written.

import { show } from "./words.js";
/** @import { Rule, State } from "./types.d.ts" */

/**
 * The pair of a column: its number, its partner, and whether it is the second; undefined for what is not turned.
 * @param {Rule} rule
 * @param {number} j
 */
export function pairOf(rule, j) {
  const p = Math.max(rule.first.indexOf(j), rule.second.indexOf(j));
  return p < 0
    ? undefined
    : { p, second: rule.second[p] === j, partner: rule.second[p] === j ? rule.first[p] : rule.second[p] };
}

// A small angle is written with three digits where the chosen decimals would leave nothing of it.
const SMALL = 1e-4;

/**
 * @param {State} s
 * @param {number} v
 */
export function angleText(s, v) {
  const text = show(s, v);
  return text !== "≈0"
    ? text
    : Math.abs(v) < SMALL
    ? v.toExponential(2).replace("e-", "e−")
    : String(Number(v.toPrecision(3)));
}
