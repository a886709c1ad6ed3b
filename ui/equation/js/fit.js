// Fitting the width: smaller type, fewer decimals, a window, several lines, colour only.

import { make } from "./dom.js";
import { cells } from "./numbers.js";
import { dialsWidth } from "./turning.js";
import { moveWindow } from "./windows.js";
/** @import { Frame, Screen, State } from "./types.d.ts" */

/**
 * The longest number of each frame in characters, from its extremes: formatting every value would take too long.
 * @param {State} s
 */
export function measureText(s) {
  s.longest = {};
  for (const f of s.order) {
    const finite = f.v.filter(Number.isFinite), fraction = !finite.every(Number.isInteger);
    const ends = [finite.reduce((a, v) => Math.max(a, v), 0), finite.reduce((a, v) => Math.min(a, v), 0)];
    const long = (v, d) =>
      f.whole
        ? String(v).length
        : Math.abs(v) >= 1e4
        ? Math.max(8, fraction ? d + 6 : 0)
        : v.toFixed(fraction ? d : 0).length;
    s.longest[f.id] = cells(s.data.decimals + 1).map((d) =>
      Math.max(finite.length < f.v.length ? 2 : 1, ...ends.map((v) => long(v, d)))
    );
  }
}

const CAPTION = 6.4; // em, at least, for what stands above a frame

/** @param {string} text */
function wideText(text) {
  return [...text].reduce((n, c) => n + (c > "⺀" ? 1.75 : 1), 0);
} // in characters

/**
 * @param {Frame} f
 * @param {number} px
 * @param {number} [most]
 */
export function labelWidth(f, px, most = 6) {
  if (f.compact) return 0;
  const longest = Math.max(0, ...f.rows.labels.map((t) => 0.6 * wideText(t)), String(f.r0 + f.nr).length * 0.6);
  return Math.ceil((Math.min(longest, most) + 0.9) * px * 0.82);
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {number} px
 * @param {number} d
 * @param {number} n
 */
export function sizeOf(s, f, px, d, n) {
  const cell = d < 0
    ? Math.max(7, px * 0.55)
    : Math.ceil(Math.max(2.3, s.longest[f.id][d] * s.ch + 0.8) * px * (f.compact ? 0.86 : 1));
  const labels = d < 0 ? 0 : labelWidth(f, px),
    sums = d < 0
      ? 0
      : Math.ceil(Math.max(f.row_sums ? d + 3 : 0, ...f.row_notes.map((t) => wideText(t) + 1)) * s.ch * px);
  return { cell, labels, sums, width: labels + Math.max(Math.min(f.nc, n) * cell + 14, CAPTION * px) + sums };
}

/**
 * A sign that is a phrase takes a line more for its operator: "but / ÷ √2 =".
 * @param {string} sign
 */
export function signLines(sign) {
  return sign.length > 9 ? sign.replace(/(\p{L}) (?![\p{L}=→])/gu, "$1\n").split("\n") : [sign];
}

/**
 * @param {string} sign
 * @param {number} px
 */
function signWidth(sign, px) {
  return sign
    ? Math.max(...signLines(sign).map((t) => t.length + Number(t === "→") / 2)) * px * 0.72 + px * 1.3
    : px * 0.2;
}

// Matrices larger than this on both sides are drawn on a canvas, unless the learner wants their digits.
const DIGITS = 32;

/** @param {State} s */
export function hasMaps(s) {
  return s.order.some((f) => f.nr > DIGITS && f.nc > DIGITS && f.role !== "parameter");
}

/**
 * What the screen gives, in pixels: the size of its type, and its height without what stands with the equation.
 * @param {State} s
 * @returns {Screen}
 */
export function screenOf(s) {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
  return { rem, height: innerHeight - s.wires.offsetHeight, full: innerHeight };
}

/**
 * @param {State} s
 * @param {Screen} screen
 */
export function fit(s, screen) {
  const before = countsOf(s);
  if (hasMaps(s) && !s.wantsDigits) fitMaps(s, screen);
  else fitDigits(s, screen);
  for (const g of Object.values(s.groups)) moveWindow(g, g.start);
  s.seek ||= before !== countsOf(s); // the window moved round the pinned cell
}

/** @param {State} s */
function countsOf(s) {
  return Object.values(s.groups).map((g) => g.count).join();
}

/**
 * Lines that flex-wrap will make of frames of these widths; 99 where one is too wide.
 * @param {State} s
 * @param {(f: Frame) => number} width
 * @param {boolean} stack
 * @param {number} px
 * @param {number} rem
 */
function linesOf(s, width, stack, px, rem) {
  let n = 1, x = 0;
  for (const f of s.order) {
    const wide = width(f) + (stack ? 0 : signWidth(f.sign, px));
    if (wide > s.width) return 99;
    if (stack || x + wide > s.width) {
      n += x ? 1 : 0;
      x = 0;
    }
    x += wide;
  }
  return n + (!stack && x + dialsWidth(s, rem) > s.width ? 1 : 0);
}

// On canvas every cell that was sent is on screen; a matrix of few rows or columns gets larger ones.
const THIN = 64; // pixels, of a side that would be less

/**
 * @param {Frame} f
 * @param {number} cell
 */
export function mapCell(f, cell) {
  return [f.nc, f.nr].map((n) => Math.max(cell, Math.min(16, THIN / n)));
}

const EASY = 1.5; // pixels per cell: from here on fewer lines come first

export const MAP_LABEL = 4.6; // em, of a token beside a map

/**
 * @param {State} s
 * @param {Screen} screen
 */
function fitMaps(s, { rem, height, full }) {
  const px = 0.72 * rem, stack = s.width < 480, high = Math.max(...s.order.map((f) => f.nr));
  // The first view: 28 rem stand above, below and round the matrices of one line.
  const room = Math.max(0.35 * full, height - 28 * rem);
  const most = Math.max(EASY, Math.min(16, Math.floor(8 * room / high) / 8));
  const width = (cell) => (f) => labelWidth(f, px, MAP_LABEL) + Math.max(f.nc * mapCell(f, cell)[0] + 16, CAPTION * px);
  const largest = (n) => {
    for (let c = most; c > 0.5; c -= 0.125) if (linesOf(s, width(c), stack, px, rem) <= n) return c;
    return 0.5;
  };
  const sizes = stack ? [largest(98)] : [1, 2, 3].map(largest);
  const cell = sizes.find((c) => c >= Math.min(EASY, most)) ?? Math.max(...sizes);
  for (const g of Object.values(s.groups)) g.count = g.hi - g.lo;
  s.fit = { px, d: -1, stack, roomy: false, cell };
}

/**
 * @param {State} s
 * @param {Screen} screen
 */
function fitDigits(s, { rem, height }) {
  const groups = Object.values(s.groups), stack = s.width < 480, isRoomy = (px) => px > 0.85 * rem;
  const most = s.data.decimals, least = Math.min(2, most), small = 0.72 * rem;
  const lines = (px, d, count) => linesOf(s, (f) => sizeOf(s, f, px, d, count(f.cg)).width, stack, px, rem);
  // How many rows on all lines together keep the first view: 22.5 rem stand above and below, 6.4 round each matrix.
  const room = (n, px) =>
    Math.floor((height - (22.5 + 6.4 * Math.min(n, 2)) * rem) / (px * (isRoomy(px) ? 1.85 : 1.65)));
  const tallest = (inner) => Math.min(32, Math.max(0, ...s.order.filter((f) => f.rg.inner === inner).map((f) => f.nr)));
  const results = tallest(false),
    summed = tallest(true),
    need = (n) => (Math.min(n, 2) - 1) * results + Math.max(results, summed);
  const tries = [1, 0.94, 0.88, 0.82, 0.76, 0.72].map((k) => [k * rem, most, 32]);
  for (let d = most - 1; d >= least; d--) tries.push([small, d, 32]);
  // A long sum is cut short before the results are: its terms are counted in the dock, its results are the point.
  const windows = (
    from,
    to,
  ) => [
    ...cells(32 - 4).map((k) => [small, least, 32, 31 - k]),
    ...cells(from - to + 1).map((k) => [small, least, from - k, Math.min(4, from - k)]),
  ];
  const linesFor = ([px, d, limit, inner = limit]) => lines(px, d, (g) => Math.min(g.most, g.inner ? inner : limit));
  const within = (n, list) =>
    list.find((t) => {
      const k = linesFor(t);
      return k <= n && (stack || t[0] <= small || need(k) <= room(k, t[0]));
    });
  const best = within(1, [...tries, ...windows(31, 8)]) ?? within(2, [...tries, ...windows(31, 6)]) ??
    within(3, windows(31, 6)) ?? within(9, [...tries, ...windows(31, 3)]);
  const [px, d, limit, inner = limit] = best ?? [small, -1, 32], n = best ? linesFor(best) : 1;
  // Two rows too many are shown all the same: the buttons of a window would be as tall.
  const total = room(n, px),
    few = Math.min(n, 2),
    fitting = (all, part, spare) => all <= Math.max(5, part) + spare ? all : Math.max(5, part);
  const rows = best ? Math.min(fitting(results, Math.floor(total / few), 2 / few), n > 1 ? 12 : 32) : 32;
  const terms = best ? fitting(summed, total - (few - 1) * Math.min(rows, results), 2) : 32;
  for (const g of groups) {
    g.count = Math.min(g.hi - g.lo, g.most, g.inner ? Math.min(inner, terms) : g.cols ? limit : rows);
  }
  for (const g of groups) {
    if (best && g.cols) { // what the lines leave free is used
      const end = Math.min(g.hi - g.lo, g.most, g.inner ? terms : 32);
      while (g.count < end) {
        if (g.count += 1, lines(px, d, (h) => h.count) > n) {
          g.count -= 1;
          break;
        }
      }
    }
  }
  s.fit = { px, d, stack, roomy: isRoomy(px) };
}

/** @param {State} s */
export function characterWidth(s) {
  const probe = make("span", "probe", s.root);
  probe.textContent = "0".repeat(20);
  s.ch = probe.getBoundingClientRect().width / 20 / parseFloat(getComputedStyle(probe).fontSize) || 0.6;
  probe.remove();
}
