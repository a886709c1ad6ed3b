// The pinned cell.

import { bringAlong } from "./related.js";
/** @import { Pin, State } from "./types.d.ts" */

/**
 * @param {State} s
 * @param {Pin} pin
 */
export function setPin(s, pin) {
  s.pin = pin;
  s.alert = "";
  s.head = null;
  if (pin) bringAlong(s, { id: pin.id, i: pin.row, j: pin.col });
  else s.focus = s.hover = null;
  s.sentPins.push({ key: pinKey(pin), time: Date.now() });
  s.send("pin", pin && { id: pin.id, name: s.frames[pin.id].name, row: pin.row, col: pin.col });
  s.redraw();
}

/** @param {Pin} pin */
export function pinKey(pin) {
  return pin ? [pin.id, pin.row, pin.col].join() : "";
}

/**
 * Python echoes pins; an echo of an older one than the last sent must not move the pin back.
 * @param {State} s
 * @param {boolean} fresh
 */
export function takePin(s, fresh) {
  const key = pinKey(s.data.pin), echo = s.sentPins.findIndex((p) => p.key === key);
  if (echo >= 0) s.sentPins.splice(0, echo + 1);
  s.sentPins = s.sentPins.filter((p) => Date.now() - p.time < 3000);
  const news = key !== s.lastPin && echo < 0 && !s.sentPins.length;
  s.lastPin = key;
  if (fresh || news) {
    s.pin = s.data.pin;
    s.seek = true;
  }
  const f = s.pin && s.frames[s.pin.id]; // it may lie outside the window that was sent
  if (s.pin && !(f && s.pin.row < f.rows.total && s.pin.col < f.cols.total)) s.pin = null;
}
