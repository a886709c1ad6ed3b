// Pointing: which cell is meant, and what lights up with it.

import { cellAt, place } from "./cells.js";
import { drawDials } from "./dials.js";
import { drawDock } from "./dock.js";
import { has } from "./frames.js";
import { lightMaps } from "./glow.js";
import { mapPlace, seat } from "./map.js";
import { pairCells } from "./turning.js";
import { related } from "./related.js";
import { stepPlace } from "./ticks.js";
import { headCells, lightWiring } from "./wiring.js";
/** @import { Place, Related, State } from "./types.d.ts" */

/** @param {State} s */
function current(s) {
  const pinned = s.pin && { id: s.pin.id, i: s.pin.row, j: s.pin.col };
  const at = s.hover ?? stepPlace(s) ?? s.focus ?? pinned;
  return at && s.frames[at.id] && has(s.frames[at.id], at.i, at.j) ? at : null;
}

/**
 * @param {State} s
 * @param {Place | null} at
 * @returns {Related}
 */
function lightOf(s, at) {
  if (s.head) return headCells(s);
  return at ? related(s, s.frames[at.id], at.i, at.j) : { backwards: false, found: [] };
}

/**
 * Only cells whose state changes are touched: the rest of a large page is not restyled.
 * @param {State} s
 */
export function point(s) {
  const at = s.head ? null : current(s), next = new Map();
  const { backwards, found } = lightOf(s, at);
  for (const [f, i, j] of found) {
    const cell = cellAt(s, f.id, i, j);
    if (cell) next.set(cell, backwards ? "lit" : "feeds");
  }
  for (const [f, i, j] of pairCells(s, at)) {
    const cell = cellAt(s, f.id, i, j);
    if (cell) next.set(cell, "on");
  }
  const own = at && cellAt(s, at.id, at.i, at.j);
  if (own) next.set(own, "on");
  for (const cell of s.lit) {
    if (next.get(cell) !== cell.glow) {
      cell.classList.remove(cell.glow);
      cell.glow = "";
    }
  }
  for (const [cell, glow] of next) {
    if (cell.glow !== glow) {
      cell.classList.add(glow);
      cell.glow = glow;
    }
  }
  s.lit = [...next.keys()];
  if (s.fit.cell) lightMaps(s, found, at);
  drawDials(s, at);
  lightWiring(s, at);
  drawDock(s, at);
}

/**
 * The cell at a place on screen, of digits or of a map.
 * @param {State} s
 * @param {any} e
 */
export function placeOf(s, e) {
  const cell = e.target.closest?.(".cell"), map = e.target.closest?.(".map");
  if (map && s.fit.cell) return mapPlace(s, map.dataset.id, e);
  return cell && place(s, cell);
}

/**
 * The element of a cell; of a map it is laid there first.
 * @param {State} s
 * @param {Place} at
 */
export function reach(s, { id, i, j }) {
  if (s.fit.cell && !cellAt(s, id, i, j)) seat(s, s.frames[id], s.ui[id], i, j);
  return cellAt(s, id, i, j);
}
