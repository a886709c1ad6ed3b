// A sum, cell by cell. What the left operand was made from is written first.

import { cellwise } from "../operation.js";
/** @import { Operation } from "../types.d.ts" */

/** @type {Operation} */
export const add = { ...cellwise("+", (a, b) => a + b), continues: (rule) => rule.left };
