// What is lit on a map, on a canvas above it: what a cell was made from stays bright, the cell itself stands where its
// lines cross.

import { boxes, inPixels } from "./boxes.js";
import { nameEdge } from "./edges.js";
import { has } from "./frames.js";
/** @import { Box, Frame, FrameUi, Pin, Place, State } from "./types.d.ts" */

export const RIM = 5; // pixels by which a ring may reach beyond the map

/**
 * @param {State} s
 * @param {[Frame, number, number][]} found
 * @param {Place} at
 */
export function lightMaps(s, found, at) {
  const marks = {};
  for (const [f, i, j] of found) (marks[f.id] ??= new Uint8Array(f.v.length))[(i - f.r0) * f.nc + j - f.c0] = 1;
  for (const f of s.order) {
    const own = at?.id === f.id ? at : null, pin = s.pin?.id === f.id && has(f, s.pin.row, s.pin.col) ? s.pin : null;
    light(s, f, s.ui[f.id], marks[f.id] ? boxes(f, marks[f.id]) : [], own, pin);
    nameEdge(s.ui[f.id], f, own);
  }
}

/**
 * The base is dimmed by the style sheet and what is lit is copied from it: the cost is that of the lit cells alone.
 * @param {State} s
 * @param {Frame} f
 * @param {FrameUi} u
 * @param {Box[]} lit
 * @param {Place} own
 * @param {Pin} pin
 */
function light(s, f, u, lit, own, pin) {
  const draw = u.glow.getContext("2d"),
    sharp = devicePixelRatio || 1,
    style = getComputedStyle(s.root),
    wide = u.w * f.nc,
    high = u.h * f.nr;
  draw.setTransform(sharp, 0, 0, sharp, RIM * sharp, RIM * sharp);
  for (const rect of u.drawn ?? []) draw.clearRect(...rect);
  u.drawn = [];
  const whole = lit.length === 1 && lit[0][2] * lit[0][3] === f.v.length;
  u.base.classList.toggle("dim", lit.length > 0 && !whole);
  const keep = (x, y, w, h) => u.drawn.push([x - 3, y - 3, w + 6, h + 6]);
  draw.strokeStyle = `rgb(${u.ends[0]})`;
  draw.lineWidth = 1;
  for (const [x, y, w, h] of lit.map((box) => inPixels(u, box))) {
    keep(x, y, w, h);
    if (!whole) copy(draw, u.base, sharp, x, y, w, h);
    draw.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
  }
  const ring = (i, j, ink) => {
    const grow = Math.max(1, (7 - Math.min(u.w, u.h)) / 2), [x, y] = [(j - f.c0) * u.w - grow, (i - f.r0) * u.h - grow];
    draw.strokeStyle = ink;
    draw.lineWidth = 2;
    draw.strokeRect(x, y, u.w + 2 * grow, u.h + 2 * grow);
    keep(x, y, u.w + 2 * grow, u.h + 2 * grow);
  };
  if (own) {
    const x = (own.j - f.c0 + 0.5) * u.w, y = (own.i - f.r0 + 0.5) * u.h;
    draw.fillStyle = style.color;
    draw.globalAlpha = 0.45;
    draw.fillRect(0, y - 0.5, wide, 1);
    draw.fillRect(x - 0.5, 0, 1, high);
    keep(0, y, wide, 1);
    keep(x, 0, 1, high);
    draw.globalAlpha = 1;
    ring(own.i, own.j, style.color);
  }
  if (pin) ring(pin.row, pin.col, style.getPropertyValue("--st-primary-color"));
}

/**
 * @param {CanvasRenderingContext2D} draw
 * @param {HTMLCanvasElement} from
 * @param {number} sharp
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 */
function copy(draw, from, sharp, x, y, w, h) {
  const left = Math.round(x * sharp),
    top = Math.round(y * sharp),
    across = Math.round((x + w) * sharp) - left,
    down = Math.round((y + h) * sharp) - top;
  draw.save();
  draw.setTransform(1, 0, 0, 1, 0, 0);
  draw.drawImage(
    from,
    left,
    top,
    across,
    down,
    left + Math.round(RIM * sharp),
    top + Math.round(RIM * sharp),
    across,
    down,
  );
  draw.restore();
}
