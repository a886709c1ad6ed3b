// What Python sent, as frames by id, who makes each and who reads it.

import { groupAxes } from "./axes.js";
import { decode } from "./frames.js";
import { operationOf } from "./operations.js";
/** @import { Data, State } from "./types.d.ts" */

/**
 * True where the equation is another one than before: other frames, rules or axes.
 * @param {State} s
 * @param {Data} data
 */
export function takeFrames(s, data) {
  const same = s.data !== undefined && structureOf(data) === structureOf(s.data);
  s.data = data;
  s.order = data.frames.map(decode);
  s.frames = Object.fromEntries(s.order.map((f) => [f.id, f]));
  s.maker = {};
  s.users = {};
  for (const sent of data.rules) {
    const operation = operationOf(sent), rule = operation.decode?.(sent) ?? sent;
    s.maker[rule.out] = rule;
    for (const id of new Set(operation.reads(rule))) (s.users[id] ??= []).push(rule);
  }
  groupAxes(s);
  return !same;
}

/** @param {Data} data */
function structureOf(data) {
  const axis = (a) => a.size < a.total ? [a.axis, a.total] : a; // a window may move along its axis
  return JSON.stringify([
    data.rules.map((r) => [r.op, r.out]),
    data.frames.map((f) => [f.id, f.name, axis(f.rows), axis(f.cols)]),
  ]);
}
