// A product for each head: query head h reads matrix h ÷ group of the right operand.

import { value } from "../frames.js";
import { cells } from "../numbers.js";
import { placed } from "../operation.js";
import { joinTerms } from "../words.js";
import { productTerm } from "./matmul.js";
/** @import { Operation, Rule, State } from "../types.d.ts" */

/**
 * The first row of the matrix that row i of the left operand is multiplied with.
 * @param {State} s
 * @param {Rule} rule
 * @param {number} i
 */
function rightStart(s, rule, i) {
  return Math.floor(Math.floor(i / rule.rows) / rule.group) * s.frames[rule.left].cols.total;
}

/** @type {Operation} */
export const grouped = {
  reads: (rule) => [rule.left, rule.right],
  sources(s, rule, i, j, to) {
    const left = s.frames[rule.left], start = rightStart(s, rule, i);
    to.row(left, i);
    for (let d = 0; d < left.cols.total; d++) to.cell(s.frames[rule.right], start + d, j);
  },
  uses(s, rule, f, i, j, to) {
    const out = s.frames[rule.out];
    if (rule.left === f.id) {
      to.row(out, i);
      return;
    }
    const first = Math.floor(i / s.frames[rule.left].cols.total) * rule.group * rule.rows;
    for (let r = first; r < first + rule.group * rule.rows; r++) to.cell(out, r, j);
  },
  axes(_s, rule, join) {
    join(rule.left + "/r", rule.out + "/r");
    join(rule.right + "/c", rule.out + "/c");
  },
  step(s, rule, i, j) {
    const left = s.frames[rule.left], start = rightStart(s, rule, i);
    const terms = cells(left.cols.total).map((d) =>
      productTerm(s, value(left, i, d), value(s.frames[rule.right], start + d, j))
    );
    if (terms.includes(undefined)) return { missing: true };
    return {
      text: joinTerms(s, terms.map((term) => term.text)),
      hand: terms.reduce((sum, term) => sum + term.hand, 0),
    };
  },
  used: (s, rule, _f, i, j) => placed(s.frames[rule.out], i, j),
  along: (s, rule, i, j) => [s.frames[rule.right], rightStart(s, rule, i), j],
};
