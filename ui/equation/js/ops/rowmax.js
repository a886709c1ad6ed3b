// The largest number of each row.

import { reduction } from "../operation.js";
/** @import { Operation } from "../types.d.ts" */

/** @type {Operation} */
export const rowmax = reduction((_s, texts) => `max(${texts.join("; ")})`, (row) => Math.max(...row));
