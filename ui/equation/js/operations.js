// Every operation by its name: a file for each in ops, beside the rule of the same name in Python.

import { add } from "./ops/add.js";
import { append } from "./ops/append.js";
import { cos } from "./ops/cos.js";
import { difference } from "./ops/difference.js";
import { divide } from "./ops/divide.js";
import { exp } from "./ops/exp.js";
import { grouped } from "./ops/grouped.js";
import { lookup } from "./ops/lookup.js";
import { matmul } from "./ops/matmul.js";
import { move } from "./ops/move.js";
import { multiply } from "./ops/multiply.js";
import { rotate } from "./ops/rotate.js";
import { rowmax } from "./ops/rowmax.js";
import { rowsum } from "./ops/rowsum.js";
import { scale } from "./ops/scale.js";
import { sin } from "./ops/sin.js";
import { softmax } from "./ops/softmax.js";
import { transpose } from "./ops/transpose.js";
/** @import { Operation } from "./types.d.ts" */

/** @type {Record<string, Operation>} */
export const OPERATIONS = {
  add,
  append,
  cos,
  difference,
  divide,
  exp,
  grouped,
  lookup,
  matmul,
  move,
  multiply,
  rotate,
  rowmax,
  rowsum,
  scale,
  sin,
  softmax,
  transpose,
};

/**
 * @param {{ op: string }} rule
 * @returns {Operation}
 */
export function operationOf(rule) {
  if (!Object.hasOwn(OPERATIONS, rule.op)) throw new Error(`no operation "${rule.op}"`);
  return OPERATIONS[rule.op];
}
