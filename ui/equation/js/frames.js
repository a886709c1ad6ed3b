// Frames: what is where. Indices (i, j) count from 0 over the whole axis; a frame holds the window
// [r0, r0+nr) × [c0, c0+nc) of it and shows the part of that window on which its axis groups stand.

/** @import { Axis, Frame, State } from "./types.d.ts" */

/** @param {string} base64 */
export function floats(base64) {
  return new Float32Array(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);
}

/** @param {any} frame */
export function decode(frame) {
  const nr = frame.rows.size, nc = frame.cols.size, v = floats(frame.values);
  for (const [r, c] of frame.hidden) v[r * nc + c] = NaN;
  return { ...frame, v, nr, nc, r0: frame.rows.offset, c0: frame.cols.offset, cs: 0, mark: new Uint8Array(nr * nc) };
}

/**
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function has(f, i, j) {
  return i >= f.r0 && i < f.r0 + f.nr && j >= f.c0 && j < f.c0 + f.nc;
}

/**
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function value(f, i, j) {
  return has(f, i, j) ? f.v[(i - f.r0) * f.nc + j - f.c0] : undefined;
}

/**
 * Rows that were brought together, and rows and columns that count from 0, have numbers of their own.
 * @param {Axis} axis
 * @param {number} at
 */
export function numberOn(axis, at) {
  return axis.places ? axis.places[at - axis.offset] : at + 1;
}

/**
 * @param {Frame} f
 * @param {number} i
 */
export function rowNumber(f, i) {
  return numberOn(f.rows, i);
}

/**
 * @param {Frame} f
 * @param {number} j
 */
export function colNumber(f, j) {
  return numberOn(f.cols, j);
}

/**
 * @param {Frame} f
 * @param {number} i
 */
function rowKey(f, i) {
  return f.rows.places ? rowNumber(f, i) : i;
}

/**
 * @param {Frame} f
 * @param {number} key
 */
export function rowAt(f, key) {
  if (!f.rows.places) return key;
  const k = f.rows.places.indexOf(key);
  return k < 0 ? k : f.r0 + k;
}

/**
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function editKey(f, i, j) {
  return f.transposed ? `${j},${i}` : `${rowKey(f, i)},${j}`;
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function isEdited(s, f, i, j) {
  return s.edits[f.name]?.[editKey(f, i, j)] !== undefined;
}

/**
 * A row of a cache, or a column of its transpose: new in this step; allocated, but holding nothing yet.
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function isFresh(f, i, j) {
  return f.fresh !== null && !isUnwritten(f, i, j) && (f.transposed ? j : i) >= f.fresh[0];
}

/**
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function isUnwritten(f, i, j) {
  return f.filled !== null && (f.transposed ? j : i) >= f.filled;
}

/**
 * What made the cell: a cell that was edited by hand does not follow its frame's rule.
 * @param {State} s
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function makerOf(s, f, i, j) {
  return isEdited(s, f, i, j) ? undefined : s.maker[f.id];
}

/**
 * @param {Frame} f
 * @param {number} j
 */
export function colOf(f, j) {
  return f.cols.total === 1 ? 0 : j;
} // and a one-column operand every column

/**
 * @param {Frame} f
 * @param {number} i
 */
export function rowOf(f, i) {
  return f.rows.total === 1 ? 0 : i;
} // a one-row operand serves every row

/**
 * @param {Frame} f
 * @param {number} i
 */
export function rowSum(f, i) {
  let sum = 0;
  for (let c = 0; c < f.nc; c++) sum += f.v[(i - f.r0) * f.nc + c];
  return Math.fround(sum);
}
