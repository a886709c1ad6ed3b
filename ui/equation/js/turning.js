// The rotation on a page: its rule, the angle of a pair in a row, and the cells that turn together.

import { value } from "./frames.js";
import { operationOf } from "./operations.js";
import { angleText } from "./pairs.js";
import { say } from "./dom.js";
/** @import { Place, Related, Rule, State } from "./types.d.ts" */

/** @param {State} s */
export function turnRule(s) {
  return s.data.rules.find((rule) => operationOf(rule).turns);
}

/**
 * @param {State} s
 * @param {Rule} rule
 */
export function angleRule(s, rule) {
  return s.maker[rule.cos];
}

/**
 * @param {State} s
 * @param {Rule} rule
 * @param {number} i
 * @param {number} p
 */
export function angleOf(s, rule, i, p) {
  const a = angleRule(s, rule);
  return a.positions[i - s.frames[rule.cos].r0] * a.theta[p];
}

/**
 * Pointing at a hand means both cells of its pair.
 * @param {State} s
 * @param {Place} at
 * @returns {Related["found"]}
 */
export function pairCells(s, at) {
  const rule = turnRule(s);
  return at?.pair === undefined || !rule ? [] : [[s.frames[rule.out], at.i, rule.second[at.pair]]];
}

/**
 * @param {State} s
 * @param {Place} at
 */
export function pairTitle(s, at) {
  const rule = turnRule(s), angles = angleRule(s, rule), f = s.frames[rule.cos], p = at.pair;
  const angle = Number.isNaN(value(f, at.i, p)) ? "?" : angleText(s, angleOf(s, rule, at.i, p));
  return say(s, "pair", {
    p: p + 1,
    at: angleText(s, angles.positions[at.i - f.r0]),
    theta: angleText(s, angles.theta[p]),
    angle,
  });
}

export const MOST_LARGE = 8;

/**
 * What the hands take beside the frames of a line, in pixels; where there are many they have a line of their own.
 * @param {State} s
 * @param {number} rem
 */
export function dialsWidth(s, rem) {
  const n = turnRule(s)?.first.length ?? 0;
  return n > MOST_LARGE ? 0 : n && (n * 4.3 + 0.8) * rem;
}
