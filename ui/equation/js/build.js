// The elements of a frame, as they are before anything is drawn into them.

import { makeCell } from "./cells.js";
import { button, make } from "./dom.js";
import { cells } from "./numbers.js";
import { pan } from "./windows.js";
/** @import { FrameUi, State } from "./types.d.ts" */

/**
 * @param {State} s
 * @param {string} id
 * @returns {FrameUi}
 */
export function buildFrame(s, id) {
  const term = make("div", "term"), sign = make("div", "sign", term), frame = make("div", "frame", term);
  const above = make("div", "above", frame), cap = make("div", "cap", above);
  const symbol = make("b", "symbol", cap), slice = make("span", "slice", cap), form = make("span", "shape", cap);
  const words = make("div", "words", above), heads = make("div", "heads", above), mid = make("div", "mid", frame);
  const labels = make("div", "labels", mid), grid = make("div", "grid", mid), sums = make("div", "sums", mid);
  const edge = buildRuler(s, make("div", "edge", mid), id, "r"), below = make("div", "below", frame);
  const rulers = [edge, buildRuler(s, below, id, "c")], scale = make("span", "scale", below);
  const pans = /** @type {("r" | "c")[]} */ (["r", "c"]).map((side) => buildPan(s, below, id, side));
  const note = make("span", "note", below);
  grid.setAttribute("role", "grid");
  return {
    ...{ term, sign, frame, above, symbol, slice, form, words, heads, labels, grid, sums },
    ...{ rulers, below, scale, pans, note, cells: [] },
  };
}

/**
 * @param {State} s
 * @param {HTMLElement} below
 * @param {string} id
 * @param {"r" | "c"} side
 */
function buildPan(s, below, id, side) {
  const box = make("span", "pan", below);
  const step = (sign) => () => {
    const g = s.frames[id][side + "g"];
    if (pan(s, g, g.start + sign * g.count)) s.redraw();
  };
  const earlier = button(box, "", step(-1)), text = make("span", "", box), later = button(box, "", step(1));
  earlier.textContent = "‹";
  later.textContent = "›";
  return { box, earlier, text, later };
}

/**
 * A thin line as long as the frame that stands for the whole axis: what was sent, and what of it is on screen.
 * @param {State} s
 * @param {Element} parent
 * @param {string} id
 * @param {"r" | "c"} side
 */
function buildRuler(s, parent, id, side) {
  const box = make("div", `ruler ruler-${side}`, parent), sent = make("i", "sent", box), seen = make("i", "seen", box);
  box.setAttribute("aria-hidden", "true");
  const go = (e) => {
    const r = box.getBoundingClientRect(), g = s.frames[id][side + "g"];
    const at = side === "c" ? (e.clientX - r.left) / r.width : (e.clientY - r.top) / r.height;
    if (pan(s, g, Math.round(at * g.total - g.count / 2))) s.redraw();
  };
  box.onpointerdown = (e) => {
    box.setPointerCapture(e.pointerId);
    go(e);
  };
  box.onpointermove = (e) => {
    if (box.hasPointerCapture(e.pointerId)) go(e);
  };
  return { box, sent, seen, side };
}

/**
 * @param {FrameUi} u
 * @param {number} rows
 * @param {number} cols
 * @param {string} id
 */
export function buildCells(u, rows, cols, id) {
  u.cells = cells(rows).map((r) => {
    const row = make("div", "row");
    row.setAttribute("role", "row");
    return cells(cols).map((c) => makeCell(row, id, r, c));
  });
  u.grid.classList.remove("map");
  u.grid.replaceChildren(...u.cells.map((row) => row[0].parentElement));
  u.heads.className = "heads";
  u.heads.replaceChildren();
  u.labels.replaceChildren();
}
