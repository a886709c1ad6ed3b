// What the learner changes: the pinned cell and the edits.

import { show } from "./dock.js";
import { make, say } from "./dom.js";
import { redraw } from "./draw.js";
import { editKey, has, rowAt, rowNumber, value } from "./frames.js";
import { fullValue, parseNumber } from "./numbers.js";
import { place } from "./point.js";
import { bringAlong } from "./reshape.js";

export function setPin(s, pin) {
  s.pin = pin; s.alert = ""; s.head = null;
  if (pin) bringAlong(s, { id: pin.id, i: pin.row, j: pin.col }); else s.focus = s.hover = null;
  s.sentPins.push({ key: pinKey(pin), time: Date.now() });
  s.send("pin", pin && { id: pin.id, name: s.frames[pin.id].name, row: pin.row, col: pin.col });
  redraw(s);
}
export function pinKey(pin) { return pin ? [pin.id, pin.row, pin.col].join() : ""; }

// Python echoes pins; an echo of an older one than the last sent must not move the pin back.
export function takePin(s, fresh) {
  const key = pinKey(s.data.pin), echo = s.sentPins.findIndex((p) => p.key === key);
  if (echo >= 0) s.sentPins.splice(0, echo + 1);
  s.sentPins = s.sentPins.filter((p) => Date.now() - p.time < 3000);
  const news = key !== s.lastPin && echo < 0 && !s.sentPins.length;
  s.lastPin = key;
  if (fresh || news) { s.pin = s.data.pin; s.seek = true; }
  const f = s.pin && s.frames[s.pin.id];                   // it may lie outside the window that was sent
  if (s.pin && !(f && s.pin.row < f.rows.total && s.pin.col < f.cols.total)) s.pin = null;
}

// ---- editing ----

export function startEdit(s, cell, text) {
  const { id, i, j } = place(s, cell), f = s.frames[id];
  if (!f.editable || Number.isNaN(value(f, i, j)) || s.editor?.cell === cell) return;
  closeEditor(s, true);
  s.alert = "";
  const input = make("input");
  input.value = text ?? fullValue(value(f, i, j));
  input.inputMode = "decimal"; input.autocomplete = "off"; input.maxLength = 32;
  input.setAttribute("aria-label", say(s, "editing", { symbol: f.label, i: rowNumber(f, i), j: j + 1 }));
  s.editor = { cell, input, u: s.ui[id], id, i, j };
  input.onblur = () => closeEditor(s, true);
  input.onkeydown = (e) => {
    e.stopPropagation();
    if (e.key !== "Enter" && e.key !== "Escape") return;
    e.preventDefault();
    closeEditor(s, e.key === "Enter");
    cell.focus();
  };
  cell.replaceChildren(input);
  cell.key = "";                                          // to be written anew when the editor goes
  cell.classList.add("editing");
  input.focus();
  if (text === undefined) input.select();
}

export function closeEditor(s, commit) {
  const e = s.editor;
  if (!e) return;
  s.editor = null;                                        // before the input goes, since that blurs it
  const f = s.frames[e.id], old = value(f, e.i, e.j), typed = e.input.value;
  e.cell.classList.remove("editing");
  e.input.remove();
  const v = commit ? parseNumber(typed) : old;
  if (v === null) s.alert = say(s, "refused", { text: typed.trim().slice(0, 24), symbol: f.label, i: rowNumber(f, e.i), j: e.j + 1, value: show(s, old) });
  else if (commit && v !== Number(fullValue(old))) setEdit(s, f, e.i, e.j, v);
  redraw(s);
}

// v undefined takes the edit back; the number before it is known only to Python.
export function setEdit(s, f, i, j, v) {
  const map = s.edits[f.name] = { ...s.edits[f.name] };
  if (v === undefined) delete map[editKey(f, i, j)]; else map[editKey(f, i, j)] = v;
  s.seq += 1;
  applyEdits(s);
  s.root.classList.add("waiting");
  clearTimeout(s.sendTimer);
  s.sendTimer = setTimeout(() => s.send("edits", { seq: s.seq, rev: s.rev, map: s.edits }), 25);
}

function applyEdits(s) {
  for (const f of s.order) if (f.editable) for (const [key, v] of Object.entries(s.edits[f.name] ?? {})) {
    const [a, b] = key.split(",").map(Number), [i, j] = f.transposed ? [b, a] : [rowAt(f, a), b];
    if (has(f, i, j) && !Number.isNaN(value(f, i, j))) f.v[(i - f.r0) * f.nc + j - f.c0] = v;
  }
}

// The whole map goes back each time, so an echo that is older than the last edit only lacks some of ours.
export function takeEdits(s, fresh) {
  if (fresh || s.data.seq >= s.seq) {
    s.edits = { ...s.data.edits }; s.seq = s.data.seq; s.rev = s.data.rev;
    if (fresh) clearTimeout(s.sendTimer);
  } else applyEdits(s);
  s.root.classList.toggle("waiting", s.data.seq < s.seq);
}
