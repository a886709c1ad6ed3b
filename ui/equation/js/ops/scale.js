// Every cell divided by one number. What the cell was made from is written first.

import { value } from "../frames.js";
import { divided, joinCellwise, placed } from "../operation.js";
/** @import { Operation } from "../types.d.ts" */

/** @type {Operation} */
export const scale = {
  reads: (rule) => [rule.in],
  sources: (s, rule, i, j, to) => to.cell(s.frames[rule.in], i, j),
  uses: (s, rule, _f, i, j, to) => to.cell(s.frames[rule.out], i, j),
  axes: (s, rule, join) => joinCellwise(s, rule, [rule.in], join),
  step: (s, rule, i, j) => divided(s, value(s.frames[rule.in], i, j), rule.divisor, "÷", (a, b) => a / b),
  used: (s, rule, _f, i, j) => placed(s.frames[rule.out], i, j),
  continues: (rule) => rule.in,
};
