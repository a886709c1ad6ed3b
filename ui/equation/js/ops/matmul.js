// A product of two matrices, with a bias as its last term, written whole or between two partial sums.

import { say } from "../dom.js";
import { floats, value } from "../frames.js";
import { cells, inBrackets, printed } from "../numbers.js";
import { shownCols } from "../windows.js";
import { joinTerms, show } from "../words.js";
/** @import { Operation, Rule, State } from "../types.d.ts" */

/**
 * A term in digits and what a reader gets from it; undefined where a factor was not sent.
 * @param {State} s
 * @param {number} a
 * @param {number} b
 */
export function productTerm(s, a, b) {
  if (a === undefined || b === undefined) return undefined;
  const x = show(s, a), y = show(s, b);
  return { text: `${inBrackets(x)}×${inBrackets(y)}`, hand: printed(x) * printed(y) };
}

/**
 * What the terms before and after those on screen add up to: [first, end, sum]. Python sent the sums over what was not
 * sent itself.
 * @param {State} s
 * @param {Rule} rule
 * @param {number} i
 * @param {number} j
 * @param {number} first
 * @param {number} end
 */
function restOf(s, rule, i, j, first, end) {
  const left = s.frames[rule.left], right = s.frames[rule.right], out = s.frames[rule.out];
  const k = (i - out.r0) * out.nc + j - out.c0;
  const sum = (a, b) => {
    let t = 0;
    for (let d = a; d < b; d++) t += value(left, i, d) * value(right, d, j + right.cs);
    return t;
  };
  const before = Number(rule.before[k]) + sum(left.c0, first),
    after = sum(end, left.c0 + left.nc) + Number(rule.after[k]);
  return [[0, first, before], [end, left.cols.total, after]];
}

/** @type {Operation} */
export const matmul = {
  reads: (rule) => [rule.left, rule.right, ...(rule.bias ? [rule.bias] : [])],
  decode: (rule) =>
    rule.before ? { ...rule, before: floats(String(rule.before)), after: floats(String(rule.after)) } : rule,
  sources(s, rule, i, j, to) {
    const right = s.frames[rule.right], bias = s.frames[rule.bias];
    to.row(s.frames[rule.left], i);
    to.column(right, j + right.cs);
    if (bias) to.cell(bias, 0, j + bias.cs);
  },
  uses(s, rule, f, i, j, to) {
    if (rule.left === f.id) to.row(s.frames[rule.out], i);
    if (rule.right === f.id || rule.bias === f.id) to.column(s.frames[rule.out], j - f.cs);
  },
  axes(_s, rule, join) {
    join(rule.left + "/r", rule.out + "/r");
    join(rule.right + "/c", rule.out + "/c");
    join(rule.left + "/c", rule.right + "/r");
    if (rule.bias) join(rule.bias + "/c", rule.out + "/c");
  },
  summed: (rule) => rule.left + "/c",
  // A head's block of a wide parameter makes columns that count from their own start: column j comes from j + cs.
  shift(s, rule) {
    const out = s.frames[rule.out];
    for (const f of [s.frames[rule.right], s.frames[rule.bias]]) {
      if (f && f.cols.total !== out.cols.total) f.cs = f.c0 - out.c0;
    }
  },
  step(s, rule, i, j) {
    const left = s.frames[rule.left], right = s.frames[rule.right];
    const whole = left.nc === left.cols.total && right.nr === right.rows.total;
    if (!whole && !(rule.before && left.c0 === right.r0 && left.nc === right.nr)) return { missing: true };
    const [first, end] = whole ? [0, left.nc] : shownCols(left);
    const terms = cells(end - first).map((k) =>
      productTerm(s, value(left, i, first + k), value(right, first + k, j + right.cs))
    );
    if (terms.includes(undefined)) return { missing: true };
    const parts = [joinTerms(s, terms.map((term) => term.text))];
    let hand = terms.reduce((sum, term) => sum + term.hand, 0);
    for (const [a, b, sum] of whole ? [] : restOf(s, rule, i, j, first, end)) {
      if (a < b) {
        const text = show(s, sum),
          written = say(s, "subtotal", { sum: inBrackets(text), a: a + 1, b }).replace(/ /g, "⁀");
        parts[a ? "push" : "unshift"](written);
        hand += printed(text);
      }
    }
    if (rule.bias) {
      const f = s.frames[rule.bias], b = show(s, value(f, 0, j + f.cs) ?? NaN);
      parts.push(inBrackets(b));
      hand += printed(b);
    }
    return { text: parts.join(" +⁀"), hand };
  },
  used(s, rule, f, i, j) {
    const symbol = s.frames[rule.out].label;
    return rule.left === f.id ? say(s, "row_of", { symbol, i: i + 1 }) : say(s, "col_of", { symbol, j: j - f.cs + 1 });
  },
};
