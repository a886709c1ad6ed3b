// The dock: the arithmetic of a cell in digits.

import { arithmetic } from "./arithmetic.js";
import { attr, make, put, say } from "./dom.js";
import { isEdited } from "./frames.js";
import { pairCells, pairTitle } from "./turning.js";
import { pinKey } from "./pins.js";
import { headInWords } from "./wiring.js";
/** @import { Place, State } from "./types.d.ts" */

/**
 * @param {HTMLElement} node
 * @param {string} text
 */
function putMain(node, text) {
  if (node.dataset.text === text) return;
  node.dataset.text = text;
  node.replaceChildren();
  for (const part of text.split(/( )/)) {
    if (part.includes("⁀")) make("span", "tied", node).textContent = part.replaceAll("⁀", " ");
    else node.append(part);
  }
}

/**
 * @param {State} s
 * @param {Place} at
 */
export function drawDock(s, at) {
  const d = s.dock, f = at && s.frames[at.id];
  const found = f
      ? arithmetic(s, f, at.i, at.j)
      : { main: s.head ? headInWords(s) : "", notes: s.head ? [] : [say(s, "idle")] },
    { notes } = found;
  const main = f && at.pair !== undefined
    ? `${pairTitle(s, at)}: ${
      [found.main, ...pairCells(s, at).map(([g, i, j]) => arithmetic(s, g, i, j).main)].join(";  ")
    }`
    : found.main;
  const done = at && !s.hover && s.ticks[s.tick]?.done;
  if (done) notes.unshift(say(s, done, { symbol: f.label, i: at.i + 1 }));
  if (s.pin && at && pinKey(s.pin) === [at.id, at.i, at.j].join() && !s.fit.stack) notes.push(say(s, "pin_hint"));
  putMain(d.main, main);
  put(d.notes, notes.join("  ·  "));
  put(d.alert, s.alert);
  attr(d.box, "aria-label", say(s, "dock"));
  d.unpin.hidden = !s.pin;
  put(d.unpin, `${say(s, "pinned")} ✕`);
  attr(d.unpin, "aria-label", say(s, "unpin"));
  d.revert.hidden = !(s.pin && f?.editable && isEdited(s, f, at.i, at.j) && s.pin.id === at.id && s.pin.row === at.i &&
    s.pin.col === at.j);
  put(d.revert, say(s, "revert"));
  // It grows and does not shrink until the next drawing: shrinking would move what stands under the pointer.
  d.high = Math.max(d.high, d.box.offsetHeight);
  d.box.style.minHeight = d.high ? `min(${d.high}px, 40vh)` : "";
  d.box.tabIndex = d.box.scrollHeight > d.box.clientHeight + 1 ? 0 : -1;
}
