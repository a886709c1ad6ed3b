// The sum of each row.

import { inBrackets } from "../numbers.js";
import { reduction } from "../operation.js";
import { joinTerms } from "../words.js";
/** @import { Operation } from "../types.d.ts" */

/** @type {Operation} */
export const rowsum = reduction(
  (s, texts) => joinTerms(s, texts.map((text, k) => k ? inBrackets(text) : text)),
  (row) => row.reduce((a, b) => a + b, 0),
);
