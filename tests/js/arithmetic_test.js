// The line that the dock writes, without a browser.

import { match, strictEqual } from "node:assert/strict";
import { arithmetic } from "../../ui/equation/js/arithmetic.js";
import { change } from "../../ui/equation/js/edits.js";
import { data, frame, state } from "./made.js";

const strings = { terms: "{n} terms", rounded: "rounded", cut: "by hand", outside: "outside", unwritten: "later" };
/**
 * The line for the cell (0, 0) of a frame of an equation, and the notes.
 * @param {Record<string, unknown>[]} frames
 * @param {Record<string, unknown>[]} rules
 * @param {string} id
 */
function said(frames, rules, id) {
  const { s } = state(data(frames, rules, { strings })), { main, notes } = arithmetic(s, s.frames[id], 0, 0);
  return { main: main.replaceAll("⁀", " "), notes, s };
}
const product = { op: "matmul", out: "c", left: "a", right: "b", contracted: "D", before: "", after: "" };
const tall = Array.from({ length: 12 }, () => [1]);

Deno.test("a long sum is cut short and its terms are counted", () => {
  const frames = [frame("a", [Array(12).fill(2)]), frame("b", tall), frame("c", [[24]])];
  strictEqual(said(frames, [product], "c").main, "C[1,1] = 2×1 + 2×1 + 2×1 + … + 2×1 + 2×1 (12 terms) = 24");
});

Deno.test("a negative factor stands in brackets, a bias is the last term", () => {
  const frames = [frame("a", [[-1.5, 2]]), frame("b", [[2], [-3]]), frame("bias", [[-2]]), frame("c", [[-11]])];
  const { main } = said(frames, [{ ...product, bias: "bias" }], "c");
  strictEqual(main, "C[1,1] = (−1.500)×2 + 2×(−3) + (−2) = −11");
});

Deno.test("what comes before a division is written first, and rounding is owned up to", () => {
  const frames = [frame("a", [[1, 1]]), frame("b", [[1], [2]]), frame("c", [[3]]), frame("d", [[3 / Math.SQRT2]])];
  const scale = { op: "scale", out: "d", in: "c", divisor: Math.SQRT2, text: "√2" };
  const { main, notes } = said(frames, [product, scale], "d");
  strictEqual(main, "D[1,1]: 1×1 + 1×2 = 3;  3 ÷ 1.414 = 2.121");
  match(notes.join(), /rounded/); // 3 ÷ 1.414 is 2.122 by hand
});

Deno.test("a part that was not sent is said to be missing", () => {
  const part = { ...frame("a", [[1, 1]]).cols, total: 5, full: 5 };
  const frames = [frame("a", [[1, 1]], { cols: part }), frame("b", [[1], [2]]), frame("c", [[3]])];
  const { main, notes } = said(frames, [product], "c");
  strictEqual(main, "C[1,1] = 3");
  match(notes.join(), /outside/);
});

Deno.test("a number that is asked for is given away by nothing", () => {
  const hidden = { hidden: [[0, 0]] };
  const frames = [frame("a", [[1, 1]]), frame("b", [[1], [2]]), frame("c", [[3]], hidden)];
  strictEqual(said(frames, [product], "c").main, "C[1,1] = ?");
});

Deno.test("a cell that was edited by hand does not follow its rule", () => {
  const { s } = said([frame("a", [[1, 1]]), frame("b", [[1], [2]]), frame("c", [[3]])], [product], "c");
  change(s, "c", "0,0", 7, 0);
  const { main, notes } = arithmetic(s, s.frames.c, 0, 0);
  strictEqual(main.replaceAll("⁀", " "), "C[1,1] = 7");
  match(notes.join(), /by hand/);
});
