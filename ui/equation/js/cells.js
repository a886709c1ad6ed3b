// The cells of a frame and the labels on its edges.

import { attr, make, put, say } from "./dom.js";
import { colNumber, isEdited, isFresh, isUnwritten, numberOn, rowNumber, value } from "./frames.js";
import { formatNumber, fullValue } from "./numbers.js";
import { isBlank } from "./ticks.js";
/** @import { Axis, CellElement, Frame, FrameUi, State } from "./types.d.ts" */

/**
 * @param {State} s
 * @param {string} id
 * @param {number} i
 * @param {number} j
 */
export function cellAt(s, id, i, j) {
  const u = s.ui[id];
  return u?.cells[i - u.i0]?.[j - u.j0];
}

/**
 * @param {State} s
 * @param {CellElement} cell
 */
export function place(s, cell) {
  const u = s.ui[cell.at.id];
  return { id: cell.at.id, i: u.i0 + cell.at.r, j: u.j0 + cell.at.c };
}

/**
 * @param {HTMLElement} row
 * @param {string} id
 * @param {number} r
 * @param {number} c
 */
export function makeCell(row, id, r, c) {
  const cell = Object.assign(make("div", "cell", row), { at: { id, r, c }, key: "", glow: "" });
  cell.setAttribute("role", "gridcell");
  cell.tabIndex = -1;
  return cell;
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {FrameUi} u
 */
export function drawCells(s, f, u) {
  const top = topOf(f);
  u.cells.forEach((row, r) => {
    attr(row[0].parentElement, "aria-rowindex", u.i0 + r + 1);
    row.forEach((cell, c) => drawCell(s, f, cell, u.i0 + r, u.j0 + c, top));
  });
  if (!u.cells.flat().some((cell) => cell.tabIndex === 0)) u.cells[0][0].tabIndex = 0;
}

/**
 * The number of full shade.
 * @param {Frame} f
 */
export function topOf(f) {
  return Math.max(Math.abs(f.range[0]), Math.abs(f.range[1])) || 1;
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {CellElement} cell
 * @param {number} i
 * @param {number} j
 * @param {number} top
 */
function drawCell(s, f, cell, i, j, top) {
  const v = value(f, i, j),
    unwritten = isUnwritten(f, i, j),
    unseen = unwritten || isBlank(s, f, i, j),
    secret = Number.isNaN(v),
    changed = isEdited(s, f, i, j);
  const pinned = s.pin?.id === f.id && s.pin.row === i && s.pin.col === j;
  const fresh = isFresh(f, i, j);
  const key = [v, unwritten, fresh, unseen, changed, pinned, i, j, top, s.fit.d, f.label, s.data.strings.cell].join();
  if (cell.key === key) return; // most cells stay as they are in most reruns
  if (s.editor?.cell !== cell) cell.key = key;
  const text = unseen ? "" : secret ? "?" : s.fit.d < 0 ? "" : f.whole ? String(v) : formatNumber(v, s.fit.d);
  const full = unwritten ? say(s, "unwritten") : unseen ? say(s, "blank") : secret ? say(s, "hidden") : fullValue(v);
  if (s.editor?.cell !== cell) put(cell, text);
  attr(cell, "aria-label", say(s, "cell", { symbol: f.label, i: rowNumber(f, i), j: colNumber(f, j), value: full }));
  attr(cell, "aria-colindex", j + 1);
  attr(cell, "aria-selected", pinned);
  const on = {
    blank: unseen,
    unwritten,
    fresh,
    secret,
    ninf: !unseen && v === -Infinity,
    neg: !unseen && v < 0,
    edited: changed,
    pinned,
  };
  for (const name in on) if (cell.classList.contains(name) !== on[name]) cell.classList.toggle(name, on[name]);
  const shade = unseen || f.whole || !Number.isFinite(v) ? 0 : Math.min(1, Math.abs(v) / top);
  cell.style.setProperty("--s", shade.toFixed(3));
  if (fresh) cell.style.setProperty("--role", `var(--role-${f.fresh[1]})`);
  else cell.style.removeProperty("--role");
}

/**
 * Token labels as text; a label that occurs twice carries its index, and without labels the index stands alone.
 * @param {HTMLElement} box
 * @param {number[]} indices
 * @param {Axis} axis
 * @param {number} offset
 * @param {number} first
 */
export function drawLabels(box, indices, axis, offset, first) {
  while (box.children.length > indices.length) box.lastChild.remove();
  for (const k of indices) {
    drawLabel(/** @type {HTMLElement} */ (box.children[k]) ?? make("span", "label", box), axis, offset, first + k);
  }
}

/**
 * @param {HTMLElement} node
 * @param {Axis} axis
 * @param {number} offset
 * @param {number} at
 */
export function drawLabel(node, axis, offset, at) {
  const label = axis.labels[at - offset];
  const repeated = label !== undefined && axis.labels.indexOf(label) !== axis.labels.lastIndexOf(label);
  const text = label ?? String(numberOn(axis, at)), key = text + "\n" + (repeated ? at : "");
  if (node.dataset.key === key) return;
  node.dataset.key = key;
  node.className = label === undefined ? "label index" : "label";
  node.title = label === undefined || axis.places ? "" : `${label} (${at + 1})`;
  node.replaceChildren();
  const name = make("bdi", "", node);
  name.textContent = text;
  if (repeated) make("sub", "", node).textContent = String(at + 1);
}
