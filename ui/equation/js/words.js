// How numbers and places are written in the dock.

import { say } from "./dom.js";
import { colNumber, rowNumber } from "./frames.js";
import { formatNumber, printed } from "./numbers.js";
/** @import { Frame, State } from "./types.d.ts" */

/**
 * @param {State} s
 * @param {number} v
 */
export function show(s, v) {
  return Number.isNaN(v) ? "?" : formatNumber(v, s.data.decimals);
}

/**
 * What a reader of the printed digits gets: rounding to the printed decimals, halves away from zero.
 * @param {State} s
 * @param {number} x
 */
export function byHand(s, x) {
  return printed(formatNumber(x + Math.sign(x) * 1e-11 * Math.max(1, Math.abs(x)), s.data.decimals));
}

/**
 * In the arithmetic "⁀" is a space at which no line breaks: a number stays with its operator.
 * @param {State} s
 * @param {string[]} terms
 */
export function joinTerms(s, terms) {
  const [most, first, last] = s.fit.stack ? [4, 2, 1] : [8, 3, 2];
  if (terms.length <= most) return terms.join(" +⁀");
  return [...terms.slice(0, first), "…", ...terms.slice(-last)].join(" +⁀") +
    ` (${say(s, "terms", { n: terms.length }).replace(/ /g, "⁀")})`;
}

/**
 * Q[h2,t1,d1], or Q[1,3] where the axes have no names of their own.
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function placeName(f, i, j) {
  if (f.vector) return `${f.label}[${rowNumber(f, i)}]`;
  if (!f.cols.index) return `${f.label}[${f.rows.index}${rowNumber(f, i)},${colNumber(f, j)}]`;
  const [a, b] = f.stack?.indices ?? [], n = f.stack && f.rows.total / f.stack.count;
  const row = f.stack ? `${a}${Math.floor(i / n) + 1},${b}${i % n + 1}` : `${f.rows.index}${i + 1}`;
  return `${f.label}[${row},${f.cols.index}${j + 1}]`;
}

/**
 * The symbol of a frame, with its axes where several frames hold the same numbers.
 * @param {Frame} f
 */
export function titleOf(f) {
  return f.stack ? `${f.label} [${[...f.stack.letters, f.cols.letter].join()}]` : f.label;
}

/**
 * Right-to-left tokens are isolated, so that they do not turn the sentence round.
 * @param {string} label
 * @returns {string}
 */
export function token(label) {
  return /[\u0590-\u08ff\ufb1d-\ufefc]/.test(label) ? `\u2068${label}\u2069` : label;
}

/**
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function labelsAt(f, i, j) {
  return { i: rowNumber(f, i), j: colNumber(f, j), a: f.rows.labels[i - f.r0], b: f.cols.labels[j - f.c0] };
}
