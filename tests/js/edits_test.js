// What was typed stays on top of whatever comes back, until Python says that it has it.

import { deepStrictEqual } from "node:assert/strict";
import { change } from "../../ui/equation/js/edits.js";
import { data, frame, state, take } from "./made.js";
/** @import { Change, State } from "../../ui/equation/js/types.d.ts" */

const rows = [[1, 2], [3, 4]];
/** @param {Record<string, unknown>} [more] */
const sent = (more) => data([frame("q", rows)], [], more);
/** @param {State} s */
const shown = (s) => [...s.frames.q.v];
/**
 * The changes in the last message, as [seq, cell, value].
 * @param {[string, any][]} said
 */
const last = (said) => said.at(-1)[1].changes.map((/** @type {Change} */ one) => [one.seq, one.cell, one.value]);

Deno.test("every message holds all that Python has not acknowledged, in order", () => {
  const { s, said } = state(sent());
  change(s, "q", "0,0", 5, 0);
  change(s, "q", "1,1", 6, 0);
  deepStrictEqual(last(said), [[1, "0,0", 5], [2, "1,1", 6]]);
  take(s, sent({ seq: 1, edits: { q: { "0,0": 5 } } }));
  change(s, "q", "0,1", 7, 0);
  deepStrictEqual(last(said), [[2, "1,1", 6], [3, "0,1", 7]]);
});

Deno.test("of one cell only the last number is on its way", () => {
  const { s, said } = state(sent());
  for (const number of [5, 6, 7]) change(s, "q", "0,0", number, 0);
  deepStrictEqual(last(said), [[3, "0,0", 7]]);
});

Deno.test("an older answer takes nothing away", () => {
  const { s } = state(sent());
  change(s, "q", "0,0", 5, 0);
  change(s, "q", "1,0", 8, 0);
  take(s, sent({ seq: 0 }));
  deepStrictEqual([shown(s), s.edits], [[5, 2, 8, 4], { q: { "0,0": 5, "1,0": 8 } }]);
  take(s, sent({ seq: 1, edits: { q: { "0,0": 5 } } }));
  deepStrictEqual([shown(s)[2], s.edits], [8, { q: { "0,0": 5, "1,0": 8 } }]);
  take(s, sent({ seq: 2, edits: { q: { "0,0": 5, "1,0": 8 } } }));
  deepStrictEqual([s.pending, s.edits], [[], { q: { "0,0": 5, "1,0": 8 } }]);
});

Deno.test("an edit that was taken back stays taken back", () => {
  const { s, said } = state(sent({ edits: { q: { "0,0": 9 } } }));
  change(s, "q", "0,0", null, 0);
  take(s, sent({ seq: 0, edits: { q: { "0,0": 9 } } }));
  deepStrictEqual([s.edits, last(said)], [{ q: {} }, [[1, "0,0", null]]]);
});

Deno.test("an acknowledgement of another equation's change of the same tensor takes nothing away", () => {
  const { s } = state(sent());
  change(s, "q", "0,0", 5, 0);
  take(s, sent({ seq: 0, rev: 0, edits: { q: { "1,1": 6 } } }));
  deepStrictEqual([s.edits, s.pending.length], [{ q: { "0,0": 5, "1,1": 6 } }, 1]);
});

Deno.test("what was typed on a slice is not put into the one that came after it, but is still sent", () => {
  const { s, said } = state(sent());
  change(s, "q", "0,0", 5, 0);
  take(s, sent({ rev: 1, since: 1 }));
  deepStrictEqual([shown(s), s.edits], [[1, 2, 3, 4], {}]);
  change(s, "q", "0,0", 6, 1);
  deepStrictEqual(last(said), [[1, "0,0", 5], [2, "0,0", 6]]);
});

Deno.test("what was typed after edits were replaced stays", () => {
  const { s } = state(sent({ edits: { q: { "1,1": 3 } } }));
  change(s, "q", "0,0", 5, 0);
  take(s, sent({ rev: 1, edits: {} }));
  deepStrictEqual([shown(s), s.edits], [[5, 2, 3, 4], { q: { "0,0": 5 } }]);
});

Deno.test("a transposed frame is keyed as the tensor is", () => {
  const { s } = state(data([frame("q", rows, { transposed: true })], []));
  change(s, "q", "0,1", 5, 0);
  deepStrictEqual(shown(s), [1, 2, 5, 4]);
});
