// Maps: matrices too large for digits, drawn once on a canvas. Cells of the grid exist only round the focused one.

import { boxes, inPixels } from "./boxes.js";
import { cellAt, drawCells, makeCell, topOf } from "./cells.js";
import { make } from "./dom.js";
import { drawEdge } from "./edges.js";
import { mapCell } from "./fit.js";
import { has, isUnwritten } from "./frames.js";
import { RIM } from "./glow.js";
import { cells } from "./numbers.js";
import { isBlank } from "./ticks.js";
/** @import { Frame, FrameUi, State } from "./types.d.ts" */

const AROUND = 5; // cells per side that exist as elements

/**
 * @param {FrameUi} u
 * @param {Frame} f
 */
export function buildMap(u, f) {
  u.base = make("canvas", "base");
  u.glow = make("canvas", "glow");
  u.grid.replaceChildren(u.base, u.glow);
  u.heads.replaceChildren();
  u.labels.replaceChildren();
  u.i0 = u.j0 = 0;
  const cols = Math.min(AROUND, f.nc);
  u.cells = cells(Math.min(AROUND, f.nr)).map((r) => {
    const row = make("div", "row", u.grid);
    row.setAttribute("role", "row");
    return cells(cols).map((c) => makeCell(row, f.id, r, c));
  });
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} wide
 * @param {number} high
 * @param {number} sharp
 * @param {number} rim
 */
function sizeCanvas(canvas, wide, high, sharp, rim) {
  canvas.width = Math.round((wide + rim) * sharp);
  canvas.height = Math.round((high + rim) * sharp);
  canvas.style.cssText = `width:${wide + rim}px;height:${high + rim}px;margin:${-rim / 2}px`;
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {FrameUi} u
 */
export function drawMap(s, f, u) {
  const [w, h] = mapCell(f, s.fit.cell), sharp = devicePixelRatio || 1;
  u.grid.classList.add("map");
  u.grid.dataset.id = f.id;
  u.w = w;
  u.h = h;
  u.drawn = []; // resizing a canvas clears it
  sizeCanvas(u.base, w * f.nc, h * f.nr, sharp, 0);
  sizeCanvas(u.glow, w * f.nc, h * f.nr, sharp, 2 * RIM);
  paint(s, f, u);
  const at = [s.focus, s.pin && { id: s.pin.id, i: s.pin.row, j: s.pin.col }].find((p) =>
    p?.id === f.id && has(f, p.i, p.j)
  );
  seat(s, f, u, at?.i ?? Math.max(u.i0, f.r0), at?.j ?? Math.max(u.j0, f.c0));
  drawEdge(u.labels, f.rows, f.r0, f.compact ? 0 : f.nr, h, false);
  drawEdge(u.heads, f.cols, f.c0, f.nc, w, f.cols.labels.length > 0);
}

/**
 * Lays the cells round (i, j), unless it is among them.
 * @param {State} s
 * @param {Frame} f
 * @param {FrameUi} u
 * @param {number} i
 * @param {number} j
 */
export function seat(s, f, u, i, j) {
  const inside = i >= u.i0 && j >= u.j0 && cellAt(s, f.id, i, j) && has(f, u.i0, u.j0) &&
    has(f, u.i0 + u.cells.length - 1, u.j0 + u.cells[0].length - 1);
  if (!inside) {
    const first = (at, lo, n, count) => Math.max(lo, Math.min(at - (count >> 1), lo + n - count));
    u.i0 = first(i, f.r0, f.nr, u.cells.length);
    u.j0 = first(j, f.c0, f.nc, u.cells[0].length);
    // Another element than the focused one, so that moving the focus is heard.
    if (cellAt(s, f.id, i, j) === s.parent.activeElement) {
      if (i < u.i0 + u.cells.length - 1 && u.i0 > f.r0) u.i0 -= 1;
      else if (i > u.i0 && u.i0 + u.cells.length < f.r0 + f.nr) u.i0 += 1;
    }
  }
  u.cells.forEach((row, r) =>
    row.forEach((cell, c) => {
      const x = (u.j0 + c - f.c0) * u.w, y = (u.i0 + r - f.r0) * u.h;
      cell.style.cssText = `left:${x}px;top:${y}px;width:${u.w}px;height:${u.h}px`;
    })
  );
  drawCells(s, f, u);
}

/**
 * @param {State} s
 * @param {string} id
 * @param {{ clientX: number, clientY: number }} e
 */
export function mapPlace(s, id, e) {
  const f = s.frames[id], u = s.ui[id], r = u.base.getBoundingClientRect();
  const at = (x, size, n) => Math.max(0, Math.min(n - 1, Math.floor(x / size)));
  return { id, i: f.r0 + at(e.clientY - r.top, u.h, f.nr), j: f.c0 + at(e.clientX - r.left, u.w, f.nc) };
}

/**
 * @param {Element} node
 * @returns {number[]}
 */
function colourOf(node) {
  const colour = getComputedStyle(node).color, n = colour.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
  const unit = colour.startsWith("color") ? 255 : 1;
  return n.slice(0, 3).map((v) => Math.round(v * unit));
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {FrameUi} u
 */
function paint(s, f, u) {
  const plain = u.plain ??= make("canvas"), top = topOf(f), ends = u.ends = [colourOf(u.base), colourOf(u.glow)];
  plain.width = f.nc;
  plain.height = f.nr;
  const context = plain.getContext("2d"),
    image = context.createImageData(f.nc, f.nr),
    marks = { shut: new Uint8Array(f.v.length), asked: new Uint8Array(f.v.length) };
  for (let k = 0; k < f.v.length; k++) {
    const v = f.v[k], i = f.r0 + Math.floor(k / f.nc), j = f.c0 + k % f.nc;
    const blank = isUnwritten(f, i, j) || (s.tick !== null && isBlank(s, f, i, j));
    if (blank) continue;
    if (v === -Infinity) marks.shut[k] = 1;
    else if (Number.isNaN(v)) marks.asked[k] = 1;
    const [r, g, b] = ends[v < 0 ? 1 : 0];
    image.data.set([r, g, b, Number.isFinite(v) ? Math.round(255 * Math.min(1, Math.abs(v) / top)) : 0], 4 * k);
  }
  context.putImageData(image, 0, 0);
  const draw = u.base.getContext("2d"), W = u.base.width, H = u.base.height, sharp = devicePixelRatio || 1;
  draw.imageSmoothingEnabled = false;
  draw.clearRect(0, 0, W, H);
  draw.drawImage(plain, 0, 0, W, H);
  draw.setTransform(sharp, 0, 0, sharp, 0, 0);
  u.shut = boxes(f, marks.shut);
  hatch(draw, u, f, getComputedStyle(s.root).color);
  draw.fillStyle = draw.strokeStyle = `rgb(${ends[0]})`;
  draw.font = "600 12px sans-serif";
  draw.textAlign = "center";
  draw.textBaseline = "middle";
  for (const [x, y, w, h] of boxes(f, marks.asked).map((box) => inPixels(u, box))) {
    draw.globalAlpha = 0.18;
    draw.fillRect(x, y, w, h);
    draw.globalAlpha = 1;
    draw.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    draw.fillText("?", x + w / 2, y + h / 2);
  }
  draw.setTransform(1, 0, 0, 1, 0, 0);
}

/**
 * @param {CanvasRenderingContext2D} draw
 * @param {FrameUi} u
 * @param {Frame} f
 * @param {string} ink
 */
function hatch(draw, u, f, ink) {
  if (!u.shut.length) return;
  draw.save();
  draw.beginPath();
  for (const box of u.shut) draw.rect(...inPixels(u, box));
  draw.clip();
  draw.strokeStyle = ink;
  draw.globalAlpha = 0.3;
  draw.lineWidth = 1;
  draw.beginPath();
  const wide = u.w * f.nc, high = u.h * f.nr;
  for (let x = -high; x < wide; x += 6) {
    draw.moveTo(x, high);
    draw.lineTo(x + high, 0);
  }
  draw.stroke();
  draw.restore();
}
