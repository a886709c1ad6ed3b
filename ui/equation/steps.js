// Stepping: one cell, then its row, then all.

import { attr, button, put, say } from "./dom.js";
import { redraw } from "./draw.js";
import { hasMaps } from "./fit.js";
import { shownCols, shownRows } from "./frames.js";
import { follow } from "./lookup.js";
import { cells } from "./numbers.js";
import { titleOf } from "./reshape.js";
import { saveCsv } from "./save.js";

function buildTicks(s) {
  s.ranks = {};
  s.ticks = [];
  for (const f of s.order) if (s.maker[f.id]) {
    const [i0, i1] = shownRows(f), [j0, j1] = shownCols(f), m = j1 - j0;
    const inside = s.pin?.id === f.id && s.pin.row >= i0 && s.pin.row < i1 && s.pin.col >= j0 && s.pin.col < j1;
    const [i, j] = inside ? [s.pin.row, s.pin.col] : [i0, j0];
    const row = cells(m).map((c) => c + j0).filter((c) => c !== j), rest = cells(i1 - i0).map((r) => r + i0).filter((r) => r !== i);
    s.ranks[f.id] = (r, c) => r !== i ? m + r - i0 - (r > i) : c === j ? 0 : 1 + c - j0 - (c > j);
    const add = (limit, r, c, stop, wait, done) => s.ticks.push({ id: f.id, limit, i: r, j: c, stop, wait, done });
    // Of a long row only the first cells come singly, of many rows only the first: then the rest at once.
    const single = (list, most) => list.map((at, k) => [at, k]).filter(([, k]) => list.length <= most + 2 || k < most || k === list.length - 1);
    add(0, i, j, true, 1400, m > 1 ? "" : "row_done");
    for (const [c, k] of single(row, 3)) add(1 + k, i, c, k === m - 2, 1400, k === m - 2 ? "row_done" : "");
    for (const [r, k] of single(rest, 3)) add(m + k, r, j, k === rest.length - 1, 1200, k === rest.length - 1 ? "all_done" : "row_done");
  }
}
export function stepPlace(s) { const t = s.tick === null ? null : s.ticks[s.tick]; return t && { id: t.id, i: t.i, j: t.j }; }
export function isBlank(s, f, i, j) {
  if (s.tick === null || !s.ranks[f.id]) return false;
  const now = s.ticks[s.tick], order = Object.keys(s.ranks), a = order.indexOf(f.id), b = order.indexOf(now.id);
  return a > b || (a === b && s.ranks[f.id](i, j) > now.limit);
}
export function stepTo(s, tick) {
  s.tick = tick !== null && tick >= 0 && tick < s.ticks.length ? tick : null;
  if (s.tick === null) stopPlaying(s); else follow(s, stepPlace(s));
  redraw(s);
  drawControls(s);
}
// The next or previous place to rest: a cell, its row, the whole frame.
export function rest(s, direction) {
  if (s.tick === null) { buildTicks(s); return direction > 0 ? 0 : lastRest(s, s.ticks.length - 1); }
  let t = s.tick + direction;
  while (t >= 0 && t < s.ticks.length && !s.ticks[t].stop) t += direction;
  return direction < 0 ? Math.max(0, t) : t;
}
function lastRest(s, below) { let t = below - 1; while (t > 0 && !s.ticks[t].stop) t--; return t; }
export function stopPlaying(s) { clearTimeout(s.playTimer); s.playTimer = 0; }
function advance(s, first) {
  const jump = matchMedia("(prefers-reduced-motion: reduce)").matches;
  stepTo(s, jump || first ? rest(s, 1) : s.tick + 1);
  if (s.tick !== null && !jump) s.playTimer = setTimeout(() => advance(s, false), s.ticks[s.tick].wait);
  drawControls(s);
}
export function togglePlay(s) {
  if (s.playTimer) { stopPlaying(s); drawControls(s); } else advance(s, s.tick === null);
}

export function drawControls(s) {
  const c = s.controls, playing = Boolean(s.playTimer), word = { back: "back", play: playing ? "pause" : "play", next: "next", skip: "skip" };
  const glyph = { back: "◁", play: playing ? "❚❚" : "▶", next: "▷", skip: "▷▷" };
  attr(c.steps, "aria-label", say(s, "steps")); attr(c.files, "aria-label", say(s, "export"));
  c.steps.hidden = !s.data.rules.length;
  for (const name in word) { put(c[name].firstChild, glyph[name]); put(c[name].lastChild, say(s, word[name])); }
  c.back.disabled = s.tick === 0; c.skip.disabled = s.tick === null;
  c.view.hidden = !hasMaps(s);
  put(c.view, say(s, s.wantsDigits ? "colours" : "digits"));
  put(c.svg, "SVG"); attr(c.svg, "aria-label", say(s, "svg")); attr(c.svg, "title", say(s, "svg"));
  while (c.files.children.length > s.order.length + 1) c.files.lastChild.remove();
  s.order.forEach((f, k) => {
    const node = c.files.children[k + 1] ?? button(c.files, "quiet", () => saveCsv(s, s.order[k]));
    put(node, `CSV ${titleOf(f)}`); for (const name of ["aria-label", "title"]) attr(node, name, say(s, "csv", { symbol: titleOf(f) }));
  });
}
