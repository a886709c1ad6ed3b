// The edges of a map: as many labels as have room, and always that of the row and column pointed at.

import { drawLabel } from "./cells.js";
import { make } from "./dom.js";
import { cells } from "./numbers.js";
/** @import { Axis, Frame, FrameUi, LabelElement, Place } from "./types.d.ts" */

const STEPS = [1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 64];

/**
 * @param {HTMLElement} box
 * @param {Axis} axis
 * @param {number} offset
 * @param {number} n
 * @param {number} size
 * @param {boolean} turned
 */
export function drawEdge(box, axis, offset, n, size, turned) {
  box.classList.toggle("turned", turned);
  const step = STEPS.find((k) => k * size >= roomOf(box)) ?? n;
  const wanted = cells(n).filter((k) => axis.labels.length ? k % step === 0 : (offset + k + 1) % step === 0);
  while (box.children.length > wanted.length + 1) box.lastChild.remove();
  while (box.children.length < wanted.length + 1) make("span", "label", box);
  const [here, ...others] = /** @type {LabelElement[]} */ ([...box.children]);
  here.hidden = true; // the place of the label pointed at
  wanted.forEach((k, at) => {
    drawLabel(others[at], axis, offset, offset + k);
    setAt(others[at], (k + 0.5) * size);
  });
}

/**
 * @param {FrameUi} u
 * @param {Frame} f
 * @param {Place} at
 */
export function nameEdge(u, f, at) {
  nameOn(u.labels, f.rows, f.r0, u.h, at && at.i);
  nameOn(u.heads, f.cols, f.c0, u.w, at && at.j);
}

/**
 * @param {HTMLElement} box
 * @param {Axis} axis
 * @param {number} offset
 * @param {number} size
 * @param {number | null} k
 */
function nameOn(box, axis, offset, size, k) {
  const [node, ...others] = /** @type {LabelElement[]} */ ([...box.children]), named = k !== null;
  const middle = (k - offset + 0.5) * size;
  node.hidden = !named;
  if (named) {
    drawLabel(node, axis, offset, k);
    node.classList.add("here");
    setAt(node, middle);
  }
  for (const other of others) other.classList.toggle("under", named && Math.abs(other.middle - middle) < roomOf(box));
}

/**
 * How far apart labels stand: those of columns are upright only where they are words.
 * @param {HTMLElement} box
 */
function roomOf(box) {
  return box.classList.contains("heads") && !box.classList.contains("turned") ? 26 : 13;
}

/**
 * @param {LabelElement} node
 * @param {number} middle
 */
function setAt(node, middle) {
  node.middle = middle;
  node.style.setProperty("--at", `${middle}px`);
}
