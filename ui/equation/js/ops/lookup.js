// Rows looked up: which row of the table the id of a token names, and which tokens name a row.

import { say } from "../dom.js";
import { rowAt, value } from "../frames.js";
import { cells } from "../numbers.js";
import { placed } from "../operation.js";
/** @import { Operation, Rule, State } from "../types.d.ts" */

/**
 * The tokens (rows of the result) whose id names row i of the table.
 * @param {State} s
 * @param {Rule} rule
 * @param {number} i
 */
function readersOf(s, rule, i) {
  const ids = s.frames[rule.left], table = s.frames[rule.right];
  return cells(ids.nr).map((k) => ids.r0 + k).filter((t) => rowAt(table, value(ids, t, 0)) === i);
}

/**
 * The row of the table that row i of the result was read from.
 * @param {State} s
 * @param {Rule} rule
 * @param {number} i
 */
function readRow(s, rule, i) {
  return rowAt(s.frames[rule.right], value(s.frames[rule.left], i, 0));
}

/** @type {Operation} */
export const lookup = {
  unused: "unread",
  reads: (rule) => [rule.left, rule.right],
  sources(s, rule, i, j, to) {
    to.cell(s.frames[rule.left], i, 0);
    to.cell(s.frames[rule.right], readRow(s, rule, i), j);
  },
  uses(s, rule, f, i, j, to) {
    const out = s.frames[rule.out];
    if (rule.left === f.id) to.row(out, i);
    if (rule.right === f.id) { for (const t of readersOf(s, rule, i)) to.cell(out, t, j); }
  },
  axes(_s, rule, join) {
    join(rule.left + "/r", rule.out + "/r");
    join(rule.right + "/c", rule.out + "/c");
  },
  step(s, rule, i, j) {
    const table = s.frames[rule.right], id = value(s.frames[rule.left], i, 0), row = table.rows.places ? id : id + 1;
    const note = say(s, rule.note, { row, id, symbol: table.label, i: i + 1 });
    return { text: `${table.label}[${table.rows.index}${row},${j + 1}]`, hand: value(s.frames[rule.out], i, j), note };
  },
  used(s, rule, f, i, j) {
    const out = s.frames[rule.out];
    if (rule.left === f.id) return say(s, "row_of", { symbol: out.label, i: i + 1 });
    return readersOf(s, rule, i).map((t) => placed(out, t, j)).join(" · ");
  },
  follow: (s, rule, i, j) => [s.frames[rule.right], readRow(s, rule, i), j],
  // The rows that are read stay marked, whatever is pointed at.
  marked: (s, rule) =>
    rule.note === "looked_up" ? { id: rule.right, isRead: (i) => readersOf(s, rule, i).length > 0 } : null,
};
