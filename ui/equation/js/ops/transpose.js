// Rows turned into columns.

import { value } from "../frames.js";
import { placed, taken } from "../operation.js";
/** @import { Operation } from "../types.d.ts" */

/** @type {Operation} */
export const transpose = {
  reads: (rule) => [rule.in],
  sources: (s, rule, i, j, to) => to.cell(s.frames[rule.in], j, i),
  uses: (s, rule, _f, i, j, to) => to.cell(s.frames[rule.out], j, i),
  axes(_s, rule, join) {
    join(rule.in + "/r", rule.out + "/c");
    join(rule.in + "/c", rule.out + "/r");
  },
  step: (s, rule, i, j) => taken(s.frames[rule.in], j, i, value(s.frames[rule.out], i, j)),
  used: (s, rule, _f, i, j) => placed(s.frames[rule.out], j, i),
};
