// Windows: the part of an axis that is on screen, and asking for what was not sent.

/** @import { Frame, Group, State } from "./types.d.ts" */

/**
 * The part of a frame's rows and columns that is on screen: [first, end).
 * @param {number} lo
 * @param {number} n
 * @param {number} start
 * @param {number} count
 * @returns {[number, number]}
 */
function part(lo, n, start, count) {
  return [Math.max(lo, start), Math.min(lo + n, start + count)];
}

/**
 * @param {Frame} f
 * @returns {[number, number]}
 */
export function shownRows(f) {
  return part(f.r0, f.nr, f.rg.start, f.rg.count);
}

/**
 * @param {Frame} f
 * @returns {[number, number]}
 */
export function shownCols(f) {
  return part(f.c0, f.nc, f.cg.start + f.cs, f.cg.count);
}

/**
 * @param {Group} g
 * @param {number} start
 */
export function moveWindow(g, start) {
  g.start = Math.max(g.lo, Math.min(start, g.hi - g.count));
}

/**
 * @param {number} x
 * @param {number} low
 * @param {number} high
 */
function clamp(x, low, high) {
  return Math.max(low, Math.min(x, high));
}

/**
 * Shows the window from `start` on. What was not sent is asked for; what is on screen stays until it comes. True if the
 * window is there.
 * @param {State} s
 * @param {Group} g
 * @param {number} start
 */
export function pan(s, g, start) {
  const at = clamp(start, 0, g.total - g.count), sent = g.hi - g.lo;
  s.wanted = null;
  if (at >= g.lo && at + g.count <= g.hi) {
    moveWindow(g, at);
    return true;
  }
  const middle = 16 * Math.round((at + (g.count - sent) / 2) / 16);
  s.wanted = { key: g.key, start: at };
  s.windows = { ...s.windows, [g.axis]: clamp(middle, 0, g.total - sent) };
  s.root.classList.add("waiting");
  s.send("window", s.windows);
  return false;
}

/**
 * The window that was asked for is on screen as soon as it is there; anything else that comes ends the waiting.
 * @param {State} s
 */
export function takeWindow(s) {
  const g = s.wanted && s.groups[s.wanted.key];
  if (g && s.wanted.start >= g.lo && s.wanted.start < g.hi) {
    g.start = s.wanted.start;
    s.focus = s.wanted.focus ?? s.focus;
  }
  s.wanted = null;
}

/**
 * @param {Group} g
 * @param {number} at
 */
function bringIntoView(g, at) {
  if (at < g.start) moveWindow(g, at);
  else if (at >= g.start + g.count) moveWindow(g, at - g.count + 1);
}

/**
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function bringBoth(f, i, j) {
  bringIntoView(f.rg, i);
  bringIntoView(f.cg, j - f.cs);
}

/** @param {Frame} f */
export function canPan(f) {
  return f.rg.count < f.rg.total || f.cg.count < f.cg.total;
}
