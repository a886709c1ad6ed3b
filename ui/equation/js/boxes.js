// Marked cells of a map as few boxes, and the boxes in pixels.

/** @import { Box, Frame, FrameUi } from "./types.d.ts" */

/**
 * The marked cells as few boxes [row, column, rows, columns], counted from the first that was sent.
 * @param {Frame} f
 * @param {Uint8Array} marks
 * @returns {Box[]}
 */
export function boxes(f, marks) {
  /** @type {Box[]} */
  const found = [];
  /** @type {Box[]} */
  let open = [];
  for (let r = 0; r < f.nr; r++) {
    const next = /** @type {Box[]} */ ([]);
    for (let c = 0; c < f.nc; c++) {
      if (marks[r * f.nc + c]) {
        const c0 = c;
        while (c < f.nc && marks[r * f.nc + c]) c++;
        const above = open.find((box) => box[1] === c0 && box[3] === c - c0);
        if (above) {
          above[2] += 1;
          next.push(above);
        } else {
          const box = /** @type {Box} */ ([r, c0, 1, c - c0]);
          found.push(box);
          next.push(box);
        }
      }
    }
    open = next;
  }
  return found;
}

/**
 * @param {FrameUi} u
 * @param {Box} box
 * @returns {Box}
 */
export function inPixels(u, [r, c, rows, cols]) {
  return [c * u.w, r * u.h, cols * u.w, rows * u.h];
}
