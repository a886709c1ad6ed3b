// The equation component. One state object per mounted instance; Python's data comes in through `draw`, hover and
// stepping never leave the browser, edits, pin and window go back as state.

import { setEdit, setPin, takeEdits, takePin } from "./change.js";
import { button, make } from "./dom.js";
import { redraw } from "./draw.js";
import { listen } from "./events.js";
import { fit, measureText } from "./fit.js";
import { bringBoth, decode, floats, groupAxes, has, takeWindow } from "./frames.js";
import { follow } from "./lookup.js";
import { cellAt } from "./point.js";
import { bringAlong } from "./reshape.js";
import { saveSvg } from "./save.js";
import { drawControls, rest, stepTo, stopPlaying, togglePlay } from "./steps.js";
import { drawWiring } from "./wiring.js";

function mount(parentElement) {
  const root = parentElement.querySelector(".equation");
  const s = { root, parent: parentElement, ui: {}, lit: [], edits: {}, seq: 0, sentPins: [], tick: null, ticks: [], ranks: {}, alert: "", pin: null, hover: null, focus: null, width: 0, windows: {}, wanted: null };
  root.replaceChildren();
  s.wires = make("div", "wires", root);
  s.eq = make("div", "eq", root);
  s.fits = make("div", "fits", root);
  const dock = make("div", "dock", root), box = make("div", "dock-text", dock), side = make("div", "dock-side", dock);
  box.setAttribute("role", "status");
  s.dock = { box, high: 0, alert: make("div", "alert", box), main: make("div", "main", box), notes: make("div", "notes", box) };
  s.dock.alert.setAttribute("role", "alert");
  s.dock.unpin = button(side, "quiet unpin", () => setPin(s, null));
  s.dock.revert = button(side, "quiet", () => { const p = s.pin; setEdit(s, s.frames[p.id], p.row, p.col); redraw(s); });
  const bar = make("div", "bar", root), steps = make("div", "steps", bar), files = make("div", "files", bar);
  s.controls = { steps, files };
  for (const node of [steps, files]) node.setAttribute("role", "group");
  const acts = { back: () => { stopPlaying(s); stepTo(s, rest(s, -1)); }, play: () => togglePlay(s), next: () => { stopPlaying(s); stepTo(s, rest(s, 1)); }, skip: () => stepTo(s, null) };
  for (const name in acts) { const b = s.controls[name] = button(steps, "quiet", acts[name]); make("span", "glyph", b).setAttribute("aria-hidden", "true"); make("span", "", b); }
  s.controls.view = button(steps, "quiet", () => { s.wantsDigits = !s.wantsDigits; s.seek = true; refit(s); drawControls(s); });
  s.controls.svg = button(files, "quiet", () => saveSvg(s));
  listen(s);
  return s;
}

// A new width or new data can change what is on screen; the focus stays on the same number.
export function refit(s) {
  const focus = s.focus;
  fit(s);
  s.height = innerHeight; s.dock.high = 0; s.dock.box.style.minHeight = "";
  for (const at of s.seek ? [s.pin && { id: s.pin.id, i: s.pin.row, j: s.pin.col }, focus] : []) if (at) {
    const f = s.frames[at.id];
    if (has(f, at.i, at.j)) { bringAlong(s, at); bringBoth(f, at.i, at.j); follow(s, at); }
  }
  s.seek = false;
  redraw(s);
  const cell = focus && focus.pair === undefined && !s.editor && cellAt(s, focus.id, focus.i, focus.j);
  if (cell && cell !== s.parent.activeElement) cell.focus({ preventScroll: true });
}

function takeData(s, data) {
  const fresh = !s.data || data.rev !== s.data.rev, axis = (a) => a.size < a.total ? [a.axis, a.total] : a;
  const structure = (d) => d && JSON.stringify([d.rules.map((r) => [r.op, r.out]), d.frames.map((f) => [f.id, f.name, axis(f.rows), axis(f.cols)])]);
  const same = structure(data) === structure(s.data);
  s.data = data;
  s.order = data.frames.map(decode);
  s.frames = Object.fromEntries(s.order.map((f) => [f.id, f]));
  s.maker = {}; s.users = {};
  for (const sent of data.rules) {
    const rule = sent.before ? { ...sent, before: floats(sent.before), after: floats(sent.after) } : sent;
    s.maker[rule.out] = rule;
    for (const id of [rule.in, rule.left, rule.right, rule.bias, rule.cos, rule.sin]) if (id) (s.users[id] ??= new Set()).add(rule);
  }
  for (const id in s.users) s.users[id] = [...s.users[id]];
  if (!same) { s.seek = true; stopPlaying(s); s.tick = null; s.hover = null; if (s.focus && !s.frames[s.focus.id]) s.focus = null; }
  if (s.editor && !s.frames[s.editor.id]) s.editor = null;
  takeEdits(s, fresh);
  takePin(s, fresh);
}

function themeOf(s) {
  const [r, g, b] = getComputedStyle(s.root).color.match(/[\d.]+/g).map(Number);
  s.root.classList.toggle("dark", 0.2126 * r + 0.7152 * g + 0.0722 * b > 128);      // light text: a dark page
}
export function characterWidth(s) {
  const probe = make("span", "probe", s.root);
  probe.textContent = "0".repeat(20);
  s.ch = probe.getBoundingClientRect().width / 20 / parseFloat(getComputedStyle(probe).fontSize) || 0.6;
  probe.remove();
}

const STATES = new WeakMap();

function draw({ data, parentElement, setStateValue }) {
  let s = STATES.get(parentElement);
  if (!s) STATES.set(parentElement, s = mount(parentElement));
  s.send = setStateValue;
  takeData(s, data);
  groupAxes(s);
  takeWindow(s);
  themeOf(s);
  characterWidth(s);
  measureText(s);
  s.width = Math.floor(s.root.clientWidth) || s.width || 1000;
  drawWiring(s);
  refit(s);
  drawControls(s);
  return () => {
    s.observer.disconnect();
    document.removeEventListener("keydown", s.onEscape);
    document.fonts.removeEventListener("loadingdone", s.onFonts);
    removeEventListener("resize", s.onHeight);
    stopPlaying(s); clearTimeout(s.sendTimer);
    STATES.delete(parentElement);
  };
}

// This is the program, sent once; what each equation carries is mount.js, and those that came first are waiting.
const program = globalThis.equationProgram ??= { waiting: [] };
program.draw = draw;
program.waiting.splice(0).forEach((begin) => begin());
export default function () {}
