// What was typed. Every change goes to Python with the revision that it was typed on, and with all those before it of
// which Python has not said that it has them; until it says so they stand on top of whatever it sends.

import { has, rowAt, value } from "./frames.js";
/** @import { Frame, State } from "./types.d.ts" */

/**
 * A number put into a cell of a tensor (its key is "row,column"), or null where an edit is taken back.
 * @param {State} s
 * @param {string} name
 * @param {string} cell
 * @param {number | null} number
 * @param {number} rev
 */
export function change(s, name, cell, number, rev) {
  const before = s.pending.filter((one) => one.name !== name || one.cell !== cell || one.rev !== rev);
  s.seq += 1;
  s.pending = [...before, { seq: s.seq, rev, name, cell, value: number }];
  putOnTop(s);
  s.send("edits", { changes: s.pending });
}

/**
 * Python's edits, and on top of them what it does not have yet.
 * @param {State} s
 */
export function takeEdits(s) {
  s.pending = s.pending.filter((one) => one.seq > s.data.seq);
  s.seq = Math.max(s.seq, s.data.seq);
  putOnTop(s);
}

/** @param {State} s */
function putOnTop(s) {
  s.edits = Object.fromEntries(Object.entries(s.data.edits).map(([name, cells]) => [name, { ...cells }]));
  for (const { rev, name, cell, value: number } of s.pending) {
    if (rev < s.data.since) continue; // typed on a slice that is no longer on screen
    const cells = s.edits[name] ??= {};
    if (number === null) delete cells[cell];
    else cells[cell] = number;
    if (number !== null) { for (const f of s.order) if (f.editable && f.name === name) putInto(f, cell, number); }
  }
}

/**
 * @param {Frame} f
 * @param {string} cell
 * @param {number} number
 */
function putInto(f, cell, number) {
  const [a, b] = cell.split(",").map(Number), [i, j] = f.transposed ? [b, a] : [rowAt(f, a), b];
  if (has(f, i, j) && !Number.isNaN(value(f, i, j))) f.v[(i - f.r0) * f.nc + j - f.c0] = number;
}
