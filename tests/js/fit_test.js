// What gives way when there is little room, without a browser: type, decimals, windows, lines, digits at all.

import { ok, strictEqual } from "node:assert/strict";
import { fit, hasMaps, labelWidth, measureText, sizeOf } from "../../ui/equation/js/fit.js";
import { canPan } from "../../ui/equation/js/windows.js";
import { data, frame, state } from "./made.js";
/** @import { State } from "../../ui/equation/js/types.d.ts" */

const REM = 16;
const product = { op: "matmul", out: "c", left: "a", right: "b", contracted: "D", before: "", after: "" };

/**
 * A × B = C on a screen of that size; `left` of its width is the equation's.
 * @param {[number, number, number]} sizes rows of A, the summed axis, columns of B
 * @param {number} width
 * @param {number} [height]
 * @param {number} [value] that stands in every cell
 */
function fitted([rows, inner, cols], width, height = 800, value = -1.234) {
  const full = (/** @type {number} */ n, /** @type {number} */ m) =>
    Array.from({ length: n }, () => Array(m).fill(value));
  const { s } = state(data([
    frame("a", full(rows, inner)),
    frame("b", full(inner, cols), { sign: "×" }),
    frame("c", full(rows, cols), { sign: "=" }),
  ], [product]));
  Object.assign(s, { width, ch: 0.6 });
  for (const g of Object.values(s.groups)) g.start = 0;
  measureText(s);
  fit(s, { rem: REM, height, full: height });
  return s;
}

/**
 * The width of the widest frame as it now stands.
 * @param {State} s
 */
function widest(s) {
  const { px, d } = s.fit;
  return Math.max(...s.order.map((f) => sizeOf(s, f, px, d, f.cg.count).width));
}

Deno.test("where there is room, everything stands there in large type with all decimals", () => {
  const s = fitted([3, 2, 3], 1200);
  strictEqual(s.fit.px, REM);
  strictEqual(s.fit.d, 3);
  ok(!s.order.some(canPan));
});

Deno.test("type gives way before decimals, and decimals before columns", () => {
  let last = { px: Infinity, d: Infinity, cells: Infinity };
  const seen = { type: 0, decimals: 0, columns: 0 };
  for (let width = 1400; width >= 480; width -= 10) { // from here on frames stand above one another
    const s = fitted([3, 6, 6], width), cells = s.order.reduce((n, f) => n + f.cg.count, 0), { px, d } = s.fit;
    const lines = s.order.reduce((n, f) => n + sizeOf(s, f, px, d, f.cg.count).width, 0) > width ? 2 : 1;
    if (lines === 1 && d < 3) strictEqual(px, 0.72 * REM);
    if (lines === 1 && cells < 18) strictEqual(d, 2);
    if (lines === 1 && last.cells < Infinity) ok(px <= last.px && d <= last.d && cells <= last.cells);
    seen.type += Number(px < REM), seen.decimals += Number(d < 3), seen.columns += Number(cells < 18);
    last = lines === 1 ? { px, d, cells } : { px: Infinity, d: Infinity, cells: Infinity };
  }
  ok(seen.type > seen.decimals && seen.decimals > seen.columns && seen.columns > 0);
});

Deno.test("no frame is wider than the equation, whatever its sizes", () => {
  for (const width of [250, 340, 479, 480, 700, 886, 1200, 1800]) {
    for (
      const sizes of /** @type {[number, number, number][]} */ ([[1, 1, 1], [4, 4, 4], [11, 16, 11], [32, 32, 32]])
    ) {
      for (const value of [1, -1.234, 1.5e12]) {
        const s = fitted(sizes, width, 800, value);
        ok(widest(s) <= width, `${sizes} of ${value} on ${width}`);
        ok(s.order.every((f) => f.rg.count >= 1 && f.cg.count >= 1));
      }
    }
  }
});

Deno.test("the summed axis shows the same part in both operands, and is cut before the results are", () => {
  const s = fitted([6, 30, 6], 800), { a, b, c } = s.frames;
  strictEqual(a.cg, b.rg);
  ok(canPan(a));
  ok(!canPan(c));
});

Deno.test("one or two rows too many are shown all the same", () => {
  for (let height = 500; height < 900; height += 10) {
    for (let rows = 1; rows <= 32; rows++) {
      const s = fitted([rows, 2, 3], 1200, height), hidden = rows - s.frames.c.rg.count;
      ok(hidden === 0 || hidden > 2, `${rows} rows on ${height}: ${hidden} are hidden`);
    }
  }
});

Deno.test("on a phone frames stand above one another, on its narrowest column too", () => {
  for (const width of [250, 300, 358, 479]) strictEqual(fitted([3, 3, 3], width).fit.stack, true);
  strictEqual(fitted([3, 3, 3], 480).fit.stack, false);
});

Deno.test("above 32 on both sides it is a map, of cells that keep the line and of at most sixteen pixels", () => {
  ok(!hasMaps(fitted([32, 40, 32], 1200)));
  const s = fitted([40, 40, 40], 1200);
  ok(hasMaps(s));
  strictEqual(s.fit.d, -1);
  ok(Number(s.fit.cell) > 0.5 && Number(s.fit.cell) <= 16);
  ok(!s.order.some(canPan));
  s.wantsDigits = true;
  fit(s, { rem: REM, height: 800, full: 800 });
  ok(s.fit.d >= 2);
});

Deno.test("labels of Chinese tokens are given the width of their letters", () => {
  const axis = (/** @type {string} */ label) => ({ ...frame("x", [[1]]).rows, labels: [label] });
  const wide = (/** @type {string} */ label) =>
    labelWidth(state(data([frame("x", [[1]], { rows: axis(label) })], [])).s.frames.x, REM);
  ok(wide("猫追") > wide("ca"));
  strictEqual(wide("a".repeat(90)), wide("a".repeat(40)));
});
