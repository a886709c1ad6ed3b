// Windows on axes, without a browser: which axes run together, what is on screen of them, what is asked for.

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { canPan, pan, shownCols, shownRows, takeWindow } from "../../ui/equation/js/windows.js";
import { data, frame, state, take } from "./made.js";

/**
 * @param {number} rows
 * @param {number} cols
 */
const ones = (rows, cols) => Array.from({ length: rows }, () => Array(cols).fill(1));
const product = { op: "matmul", out: "s", left: "q", right: "k", contracted: "D", before: "", after: "" };

/** Q × Kᵀ with 8 columns of Q in a window of 3. */
function windowed() {
  const made = state(data([frame("q", ones(2, 8)), frame("k", ones(8, 4)), frame("s", ones(2, 4))], [product]));
  made.s.frames.q.cg.count = 3;
  return made;
}

Deno.test("the axis that is summed runs together in both operands, and so do rows and columns with the result", () => {
  const { q, k, s } = windowed().s.frames;
  deepStrictEqual([q.cg === k.rg, q.rg === s.rg, k.cg === s.cg, q.rg === q.cg], [true, true, true, false]);
  strictEqual(q.cg.inner, true);
  strictEqual(q.rg.inner, false);
});

Deno.test("a window stays on its axis", () => {
  const { s } = windowed(), { q, k } = s.frames;
  for (const [to, first] of [[4, 4], [-3, 0], [99, 5]]) {
    strictEqual(pan(s, q.cg, to), true);
    deepStrictEqual([shownCols(q), shownRows(k)], [[first, first + 3], [first, first + 3]]);
  }
  deepStrictEqual([canPan(q), canPan(s.frames.s)], [true, false]);
});

Deno.test("what was not sent is asked for, and stands on screen when it comes", () => {
  const wide = (/** @type {number} */ offset) => {
    const axis = { ...frame("x", ones(1, 4)).cols, axis: "D", offset, total: 64, full: 64 };
    return data([frame("x", ones(1, 4), { cols: axis })], []);
  };
  const { s, said } = state(wide(0));
  s.root = /** @type {HTMLElement} */ (/** @type {unknown} */ ({ classList: { add() {} } }));
  s.frames.x.cg.count = 4;
  strictEqual(pan(s, s.frames.x.cg, 16), false);
  deepStrictEqual(said, [["window", { D: 16 }]]);
  deepStrictEqual(shownCols(s.frames.x), [0, 4]);
  take(s, wide(16));
  takeWindow(s);
  deepStrictEqual(shownCols(s.frames.x), [16, 20]);
});

Deno.test("columns of a head's block are those of the whole parameter", () => {
  const block = { ...frame("w", ones(2, 2)).cols, offset: 2, total: 4, full: 4 };
  const frames = [frame("x", ones(3, 2)), frame("w", ones(2, 2), { cols: block }), frame("q", ones(3, 2))];
  const { s } = state(data(frames, [{ ...product, out: "q", left: "x", right: "w" }]));
  strictEqual(s.frames.w.cs, 2);
  strictEqual(s.frames.w.cg, s.frames.q.cg);
  deepStrictEqual(shownCols(s.frames.w), [2, 4]);
});
