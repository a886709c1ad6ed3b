// The equation component. One state object per mounted instance; Python's data comes in through `draw`, hover and
// stepping never leave the browser, edits, pin and window go back as state.

import { cellAt } from "./cells.js";
import { button, make } from "./dom.js";
import { drawEquation } from "./draw.js";
import { setEdit } from "./editor.js";
import { takeEdits } from "./edits.js";
import { listen } from "./events.js";
import { characterWidth, fit, measureText, screenOf } from "./fit.js";
import { has } from "./frames.js";
import { takeFrames } from "./model.js";
import { setPin, takePin } from "./pins.js";
import { drawControls, stepTo, stopPlaying, togglePlay } from "./player.js";
import { bringAlong, follow } from "./related.js";
import { point } from "./point.js";
import { saveSvg } from "./save.js";
import { drawSwitches, takeFlips, thrown } from "./switches.js";
import { rest } from "./ticks.js";
import { bringBoth, takeWindow } from "./windows.js";
import { drawWiring } from "./wiring.js";
/** @import { Data, Mounted, State } from "./types.d.ts" */

/**
 * @param {HTMLElement} root
 * @param {Mounted["parentElement"]} parent
 */
function newState(root, parent) {
  const s = /** @type {State} */ (/** @type {unknown} */ ({
    root,
    parent,
    ui: {},
    lit: [],
    edits: {},
    calls: [],
    pending: [],
    flips: [],
    seq: Date.now(), // above that of any equation that stood here before
    sentPins: [],
    tick: null,
    ticks: [],
    ranks: {},
    alert: "",
    pin: null,
    hover: null,
    focus: null,
    head: null,
    width: 0,
    windows: {},
    wanted: null,
  }));
  s.redraw = () => redraw(s);
  s.refit = () => refit(s);
  s.point = () => point(s);
  s.show = () => present(s);
  return s;
}

/** @param {Mounted["parentElement"]} parentElement */
function mount(parentElement) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".equation"));
  const s = newState(root, parentElement);
  root.replaceChildren();
  s.switches = make("div", "switches", root);
  s.wires = make("div", "wires", root);
  s.eq = make("div", "eq", root);
  s.fits = make("div", "fits", root);
  buildDock(s);
  buildControls(s);
  listen(s);
  return s;
}

/** @param {State} s */
function buildDock(s) {
  const dock = make("div", "dock", s.root), box = make("div", "dock-text", dock), side = make("div", "dock-side", dock);
  box.setAttribute("role", "status");
  s.dock = {
    box,
    high: 0,
    alert: make("div", "alert", box),
    main: make("div", "main", box),
    notes: make("div", "notes", box),
    unpin: button(side, "quiet unpin", () => setPin(s, null)),
    revert: button(side, "quiet", () => {
      const p = s.pin;
      setEdit(s, s.frames[p.id], p.row, p.col);
      s.redraw();
    }),
  };
  s.dock.alert.setAttribute("role", "alert");
}

/** @param {State} s */
function buildControls(s) {
  const bar = make("div", "bar", s.root), steps = make("div", "steps", bar), files = make("div", "files", bar);
  s.controls = /** @type {State["controls"]} */ (/** @type {unknown} */ ({ steps, files }));
  for (const node of [steps, files]) node.setAttribute("role", "group");
  const acts = {
    back: () => {
      stopPlaying(s);
      stepTo(s, rest(s, -1));
    },
    play: () => togglePlay(s),
    next: () => {
      stopPlaying(s);
      stepTo(s, rest(s, 1));
    },
    skip: () => stepTo(s, null),
  };
  for (const name in acts) {
    const b = s.controls[name] = button(steps, "quiet", acts[name]);
    make("span", "glyph", b).setAttribute("aria-hidden", "true");
    make("span", "", b);
  }
  s.controls.view = button(steps, "quiet", () => {
    s.wantsDigits = !s.wantsDigits;
    s.seek = true;
    refit(s);
    drawControls(s);
  });
  s.controls.svg = button(files, "quiet", () => saveSvg(s));
}

/**
 * Everything as it now stands, and what is pointed at.
 * @param {State} s
 */
function redraw(s) {
  drawEquation(s);
  s.lit = s.lit.filter((node) => node.isConnected);
  point(s);
}

/**
 * A new width or new data can change what is on screen; the focus stays on the same number.
 * @param {State} s
 */
function refit(s) {
  const focus = s.focus;
  fit(s, screenOf(s));
  s.height = innerHeight;
  s.dock.high = 0;
  s.dock.box.style.minHeight = "";
  for (const at of s.seek ? [s.pin && { id: s.pin.id, i: s.pin.row, j: s.pin.col }, focus] : []) {
    if (at) {
      const f = s.frames[at.id];
      if (has(f, at.i, at.j)) {
        bringAlong(s, at);
        bringBoth(f, at.i, at.j);
        follow(s, at);
      }
    }
  }
  s.seek = false;
  redraw(s);
  const cell = focus && focus.pair === undefined && !s.editor && cellAt(s, focus.id, focus.i, focus.j);
  if (cell && cell !== s.parent.activeElement) cell.focus({ preventScroll: true });
}

/**
 * @param {State} s
 * @param {Data} data
 */
function takeData(s, data) {
  const fresh = !s.data || data.rev !== s.data.rev;
  if (takeFrames(s, data)) {
    s.seek = true;
    stopPlaying(s);
    s.tick = null;
    s.hover = null;
    if (s.focus && !s.frames[s.focus.id]) s.focus = null;
  }
  if (s.editor && !s.frames[s.editor.id]) s.editor = null;
  takeEdits(s);
  s.root.classList.toggle("waiting", s.pending.length > 0);
  takePin(s, fresh);
}

/** @param {State} s */
function themeOf(s) {
  const [r, g, b] = getComputedStyle(s.root).color.match(/[\d.]+/g).map(Number);
  s.root.classList.toggle("dark", 0.2126 * r + 0.7152 * g + 0.0722 * b > 128); // light text: a dark page
}

/** @type {WeakMap<Mounted["parentElement"], State>} */
const STATES = new WeakMap();
const CALLS_KEPT = 8; // more are never under way at once

/**
 * A call of Streamlit's: new data for an equation, or its first. One whose equation has left the page while the program
 * was still on its way draws nothing.
 * @param {Mounted} call
 */
function draw(call) {
  const { parentElement } = call;
  if (!parentElement.isConnected) return () => {};
  let s = STATES.get(parentElement);
  if (!s) STATES.set(parentElement, s = mount(parentElement));
  s.calls = [...s.calls.slice(-CALLS_KEPT), call];
  show(s, call);
  return () => end(s, call);
}

/**
 * What a call brought, on screen.
 * @param {State} s
 * @param {Mounted} call
 */
function show(s, { data: [data], setStateValue }) {
  s.send = setStateValue;
  s.sent = data;
  takeFlips(s, data);
  present(s);
}

/**
 * What Python sent last, with the switches thrown that it does not know of.
 * @param {State} s
 */
function present(s) {
  takeData(s, thrown(s.sent, s.flips, s.data));
  takeWindow(s);
  drawSwitches(s);
  themeOf(s);
  characterWidth(s);
  measureText(s);
  s.width = Math.floor(s.root.clientWidth) || s.width || 1000;
  drawWiring(s);
  refit(s);
  drawControls(s);
}

/**
 * Streamlit ends a call when its equation leaves the page. It also ends one that was overtaken: newer data came while the
 * module of the older was still loading, and then either may be called first, so that the older stands on screen.
 * @param {State} s
 * @param {Mounted} call
 */
function end(s, call) {
  if (!s.root.isConnected) {
    leave(s);
    return;
  }
  const shown = s.calls.at(-1);
  s.calls = s.calls.filter((one) => one !== call);
  if (shown === call && s.calls.length) show(s, s.calls.at(-1));
}

/** @param {State} s */
function leave(s) {
  s.observer.disconnect();
  document.removeEventListener("keydown", s.onEscape);
  document.fonts.removeEventListener("loadingdone", s.onFonts);
  removeEventListener("resize", s.onHeight);
  stopPlaying(s);
  STATES.delete(s.parent);
}

// This is the program, sent once; what each equation carries is mount.js, and those that came first are waiting.
const program = globalThis.equationProgram ??= { waiting: [] };

program.draw = draw;

program.waiting.splice(0).forEach((begin) => begin());

export default function () {}
