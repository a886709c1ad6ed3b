// Typing a number into a cell.

import { place } from "./cells.js";
import { make, say } from "./dom.js";
import { change } from "./edits.js";
import { editKey, rowNumber, value } from "./frames.js";
import { fullValue, parseNumber } from "./numbers.js";
import { show } from "./words.js";
/** @import { CellElement, Frame, State } from "./types.d.ts" */

/**
 * @param {State} s
 * @param {CellElement} cell
 * @param {string} [text]
 */
export function startEdit(s, cell, text) {
  const { id, i, j } = place(s, cell), f = s.frames[id];
  if (!f.editable || Number.isNaN(value(f, i, j)) || s.editor?.cell === cell) return;
  closeEditor(s, true);
  s.alert = "";
  const input = make("input");
  input.value = text ?? fullValue(value(f, i, j));
  input.inputMode = "decimal";
  input.autocomplete = "off";
  input.maxLength = 32;
  input.setAttribute("aria-label", say(s, "editing", { symbol: f.label, i: rowNumber(f, i), j: j + 1 }));
  s.editor = { cell, input, u: s.ui[id], id, i, j, rev: s.data.rev };
  input.onblur = () => closeEditor(s, true);
  input.onkeydown = (e) => {
    e.stopPropagation();
    if (e.key !== "Enter" && e.key !== "Escape") return;
    e.preventDefault();
    closeEditor(s, e.key === "Enter");
    cell.focus();
  };
  cell.replaceChildren(input);
  cell.key = ""; // to be written anew when the editor goes
  cell.classList.add("editing");
  input.focus();
  if (text === undefined) input.select();
}

/**
 * @param {State} s
 * @param {boolean} commit
 */
export function closeEditor(s, commit) {
  const e = s.editor;
  if (!e) return;
  s.editor = null; // before the input goes, since that blurs it
  const f = s.frames[e.id], old = value(f, e.i, e.j), typed = e.input.value;
  e.cell.classList.remove("editing");
  e.input.remove();
  const v = commit ? parseNumber(typed) : old;
  if (v === null) {
    s.alert = say(s, "refused", {
      text: typed.trim().slice(0, 24),
      symbol: f.label,
      i: rowNumber(f, e.i),
      j: e.j + 1,
      value: show(s, old),
    });
  } else if (commit && (v !== Number(fullValue(old)) || e.rev < s.data.since)) setEdit(s, f, e.i, e.j, v, e.rev);
  s.redraw();
}

/**
 * A number for a cell; undefined takes the edit back, and the number before it is known only to Python.
 * @param {State} s
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 * @param {number} [v]
 * @param {number} [rev] the revision on screen when it was typed
 */
export function setEdit(s, f, i, j, v, rev = s.data.rev) {
  change(s, f.name, editKey(f, i, j), v ?? null, rev);
  s.root.classList.add("waiting");
}
