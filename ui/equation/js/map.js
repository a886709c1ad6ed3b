// Maps: matrices too large for digits, drawn once on a canvas; a second canvas above it shows what is lit.
// Cells of the grid exist only round the focused one.

import { cellAt, drawCells, drawLabel, makeCell, topOf } from "./cells.js";
import { make } from "./dom.js";
import { mapCell } from "./fit.js";
import { has, isUnwritten } from "./frames.js";
import { cells } from "./numbers.js";
import { isBlank } from "./ticks.js";
/** @import { Axis, Box, Frame, FrameUi, LabelElement, Pin, Place, State } from "./types.d.ts" */

const AROUND = 5; // cells per side that exist as elements

const RIM = 5; // pixels by which a ring may reach beyond the map

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

/**
 * The marked cells as few boxes [row, column, rows, columns], counted from the first that was sent.
 * @param {Frame} f
 * @param {Uint8Array} marks
 * @returns {Box[]}
 */
function boxes(f, marks) {
  /** @type {Box[]} */
  const found = [];
  /** @type {Box[]} */
  let open = [];
  for (let r = 0; r < f.nr; r++) {
    const next = /** @type {Box[]} */ ([]);
    for (let c = 0; c < f.nc; c++) {
      if (marks[r * f.nc + c]) {
        const c0 = c;
        while (c < f.nc && marks[r * f.nc + c]) c++;
        const above = open.find((box) => box[1] === c0 && box[3] === c - c0);
        if (above) {
          above[2] += 1;
          next.push(above);
        } else {
          const box = /** @type {Box} */ ([r, c0, 1, c - c0]);
          found.push(box);
          next.push(box);
        }
      }
    }
    open = next;
  }
  return found;
}

/**
 * @param {FrameUi} u
 * @param {Box} box
 * @returns {Box}
 */
export function inPixels(u, [r, c, rows, cols]) {
  return [c * u.w, r * u.h, cols * u.w, rows * u.h];
}

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

const STEPS = [1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 64];

/**
 * @param {HTMLElement} box
 * @param {Axis} axis
 * @param {number} offset
 * @param {number} n
 * @param {number} size
 * @param {boolean} turned
 */
function drawEdge(box, axis, offset, n, size, turned) {
  box.classList.toggle("turned", turned);
  const step = STEPS.find((k) => k * size >= roomOf(box)) ?? n;
  const wanted = cells(n).filter((k) => axis.labels.length ? k % step === 0 : (offset + k + 1) % step === 0);
  while (box.children.length > wanted.length + 1) box.lastChild.remove();
  while (box.children.length < wanted.length + 1) make("span", "label", box);
  const [here, ...others] = /** @type {LabelElement[]} */ ([...box.children]);
  here.hidden = true; // the place of the label pointed at
  wanted.forEach((k, at) => {
    drawLabel(others[at], axis, offset, offset + k);
    setAt(others[at], (k + 0.5) * size);
  });
}

/**
 * @param {FrameUi} u
 * @param {Frame} f
 * @param {Place} at
 */
function nameEdge(u, f, at) {
  nameOn(u.labels, f.rows, f.r0, u.h, at && at.i);
  nameOn(u.heads, f.cols, f.c0, u.w, at && at.j);
}

/**
 * @param {HTMLElement} box
 * @param {Axis} axis
 * @param {number} offset
 * @param {number} size
 * @param {number | null} k
 */
function nameOn(box, axis, offset, size, k) {
  const [node, ...others] = /** @type {LabelElement[]} */ ([...box.children]), named = k !== null;
  const middle = (k - offset + 0.5) * size;
  node.hidden = !named;
  if (named) {
    drawLabel(node, axis, offset, k);
    node.classList.add("here");
    setAt(node, middle);
  }
  for (const other of others) other.classList.toggle("under", named && Math.abs(other.middle - middle) < roomOf(box));
}

/**
 * How far apart labels stand: those of columns are upright only where they are words.
 * @param {HTMLElement} box
 */
function roomOf(box) {
  return box.classList.contains("heads") && !box.classList.contains("turned") ? 26 : 13;
}

/**
 * @param {LabelElement} node
 * @param {number} middle
 */
function setAt(node, middle) {
  node.middle = middle;
  node.style.setProperty("--at", `${middle}px`);
}
