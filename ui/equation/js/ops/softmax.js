// Each row turned into weights: e to the power of each score, over their sum.

import { say } from "../dom.js";
import { inBrackets, printed } from "../numbers.js";
import { joinCellwise, wholeRow } from "../operation.js";
import { joinTerms, show } from "../words.js";
/** @import { Operation } from "../types.d.ts" */

/** @type {Operation} */
export const softmax = {
  complete: true,
  reads: (rule) => [rule.in],
  sources: (s, rule, i, _j, to) => to.row(s.frames[rule.in], i),
  uses: (s, rule, _f, i, _j, to) => to.row(s.frames[rule.out], i),
  axes: (s, rule, join) => joinCellwise(s, rule, [rule.in], join),
  step(s, rule, i, j) {
    const f = s.frames[rule.in], row = wholeRow(f, i);
    if (!row) return { missing: true };
    if (row.some(Number.isNaN)) return { text: "?", hand: NaN };
    const top = Math.max(...row);
    if (top === -Infinity) return { text: say(s, "empty_row"), hand: NaN };
    const text = (v) => `e^(${show(s, v)}⁀−⁀${inBrackets(show(s, top))})`, power = (v) => Math.exp(v - top);
    const hand = (v) => Math.exp(printed(show(s, v)) - printed(show(s, top))),
      sum = (g) => row.reduce((t, v) => t + g(v), 0);
    const own = row[j - f.c0], parts = `${show(s, power(own))}⁀÷⁀${show(s, sum(power))}`;
    return { text: `${text(own)} ÷⁀(${joinTerms(s, row.map(text))}) =⁀${parts}`, hand: hand(own) / sum(hand) };
  },
  used: (s, rule, _f, i) => say(s, "row_of", { symbol: s.frames[rule.out].label, i: i + 1 }),
};
