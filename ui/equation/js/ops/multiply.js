// A product, cell by cell.

import { cellwise } from "../operation.js";
/** @import { Operation } from "../types.d.ts" */

/** @type {Operation} */
export const multiply = cellwise("×", (a, b) => a * b);
