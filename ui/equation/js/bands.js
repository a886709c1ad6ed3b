// What a stack looks like: three axes in its caption, a line where the next matrix or the next head begins.

import { make } from "./dom.js";
import { shownCols, shownRows } from "./windows.js";
/** @import { Frame, FrameUi, State } from "./types.d.ts" */

/**
 * @param {Frame} f
 * @param {FrameUi} u
 */
export function drawStackShape(f, u) {
  const letter = (axis, text) => {
    const n = make("i", "axis");
    n.textContent = text;
    n.style.color = `var(--axis-${axis})`;
    return n;
  };
  const { axis, inner, letters, count } = f.stack;
  u.form.classList.add("of-stack");
  u.form.replaceChildren(
    "[",
    letter(axis, letters[0]),
    ", ",
    letter(inner, letters[1]),
    ", ",
    letter(f.cols.axis, f.cols.letter),
    "] ",
    `${count}×${f.rows.total / count}×${f.cols.total}`,
  );
}

/**
 * @param {Frame} f
 * @param {FrameUi} u
 */
export function drawBands(f, u) {
  const [i0] = shownRows(f),
    [j0] = shownCols(f),
    begins = (axis, at) => axis.band > 0 && at > 0 && at % axis.band === 0;
  u.cells.forEach((row, r) =>
    row.forEach((cell, c) => {
      cell.classList.toggle("next-matrix", r > 0 && begins(f.rows, i0 + r));
      cell.classList.toggle("next-head", c > 0 && begins(f.cols, j0 + c));
    })
  );
}

/**
 * The same lines for an SVG whose upper left corner stands at `box`.
 * @param {State} s
 * @param {{ x: number, y: number }} box
 */
export function svgBands(s, box) {
  return [...s.eq.querySelectorAll(".next-matrix, .next-head")].flatMap((cell) => {
    const r = cell.getBoundingClientRect(),
      [x, y, X, Y] = [r.left - box.x, r.top - box.y, r.right - box.x, r.bottom - box.y];
    const line = (way) =>
      `<path d="${way}" fill="none" stroke="${getComputedStyle(s.root).color}" stroke-opacity=".5"/>`;
    return [
      cell.classList.contains("next-matrix") && line(`M${x} ${y}H${X}`),
      cell.classList.contains("next-head") && line(`M${x} ${y}V${Y}`),
    ].filter(Boolean);
  });
}
