// Looking rows up: which row of the table the id of a token names, and which tokens name a row.

import { bringBoth, has, rowAt, value } from "./frames.js";
import { say } from "./dom.js";

// What out[i, j] was read from: the id of the token, and a cell of that row.
export function eachRead(ids, table, i, j, to) {
  const row = rowAt(table, value(ids, i, 0));
  to.cell(ids, i, 0);
  to.cell(table, row, j);
}

// The tokens (rows of the result) whose id names row i of the table.
export function readersOf(s, rule, table, i) {
  const ids = s.frames[rule.left], found = [];
  for (let t = ids.r0; t < ids.r0 + ids.nr; t++) if (rowAt(table, value(ids, t, 0)) === i) found.push(t);
  return found;
}
export function eachReader(s, rule, f, i, j, to) {
  const out = s.frames[rule.out];
  if (rule.left === f.id) to.row(out, i);
  if (rule.right === f.id) for (const t of readersOf(s, rule, f, i)) to.cell(out, t, j);
}

export function lookupStep(s, { note }, ids, table, i, j) {
  const id = value(ids, i, 0), row = table.rows.places ? id : id + 1;
  return { text: `${table.label}[${row},${j + 1}]`, note: say(s, note, { row, id, symbol: table.label, i: i + 1 }) };
}

// The rows that are read stay marked, whatever is pointed at.
export function markRead(s) {
  for (const rule of s.data.rules) if (rule.op === "lookup" && rule.note === "looked_up" && !s.fit.cell) {
    const table = s.frames[rule.right], u = s.ui[rule.right];
    u.cells.forEach((row, r) => {
      const read = readersOf(s, rule, table, u.i0 + r).length > 0;
      row[0].parentNode.classList.toggle("read", read);
      u.labels.children[r]?.classList.toggle("read", read);
    });
  }
}

// Brings the row that a cell was read from into the window of the table.
export function follow(s, at) {
  const rule = at && s.maker[at.id];
  if (rule?.op !== "lookup") return;
  const table = s.frames[rule.right], row = rowAt(table, value(s.frames[rule.left], at.i, 0));
  if (has(table, row, at.j)) bringBoth(table, row, at.j);
}
