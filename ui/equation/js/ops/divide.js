// A quotient, cell by cell.

import { cellwise } from "../operation.js";
/** @import { Operation } from "../types.d.ts" */

/** @type {Operation} */
export const divide = cellwise("÷", (a, b) => a / b);
