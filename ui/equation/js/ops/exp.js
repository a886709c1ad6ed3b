// The exponential of every cell.

import { value } from "../frames.js";
import { printed } from "../numbers.js";
import { joinCellwise, placed } from "../operation.js";
import { show } from "../words.js";
/** @import { Operation } from "../types.d.ts" */

/** @type {Operation} */
export const exp = {
  reads: (rule) => [rule.in],
  sources: (s, rule, i, j, to) => to.cell(s.frames[rule.in], i, j),
  uses: (s, rule, _f, i, j, to) => to.cell(s.frames[rule.out], i, j),
  axes: (s, rule, join) => joinCellwise(s, rule, [rule.in], join),
  step(s, rule, i, j) {
    const x = value(s.frames[rule.in], i, j);
    if (x === undefined) return { missing: true };
    return { text: `e^(${show(s, x)})`, hand: Math.exp(printed(show(s, x))) };
  },
  used: (s, rule, _f, i, j) => placed(s.frames[rule.out], i, j),
};
