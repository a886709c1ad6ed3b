// Stepping: forwards, back, by itself; the buttons below the dock.

import { attr, button, put, say } from "./dom.js";
import { hasMaps } from "./fit.js";
import { follow } from "./related.js";
import { saveCsv } from "./save.js";
import { rest, stepPlace } from "./ticks.js";
import { titleOf } from "./words.js";
/** @import { State } from "./types.d.ts" */

/**
 * @param {State} s
 * @param {number | null} tick
 */
export function stepTo(s, tick) {
  s.tick = tick !== null && tick >= 0 && tick < s.ticks.length ? tick : null;
  if (s.tick === null) stopPlaying(s);
  else follow(s, stepPlace(s));
  s.redraw();
  drawControls(s);
}

/** @param {State} s */
export function stopPlaying(s) {
  clearTimeout(s.playTimer);
  s.playTimer = null;
}

/**
 * @param {State} s
 * @param {boolean} first
 */
function advance(s, first) {
  const jump = matchMedia("(prefers-reduced-motion: reduce)").matches;
  stepTo(s, jump || first ? rest(s, 1) : s.tick + 1);
  if (s.tick !== null && !jump) s.playTimer = setTimeout(() => advance(s, false), s.ticks[s.tick].wait);
  drawControls(s);
}

/** @param {State} s */
export function togglePlay(s) {
  if (s.playTimer) {
    stopPlaying(s);
    drawControls(s);
  } else advance(s, s.tick === null);
}

/** @param {State} s */
export function drawControls(s) {
  const c = s.controls,
    playing = Boolean(s.playTimer),
    word = { back: "back", play: playing ? "pause" : "play", next: "next", skip: "skip" };
  const glyph = { back: "◁", play: playing ? "❚❚" : "▶", next: "▷", skip: "▷▷" };
  attr(c.steps, "aria-label", say(s, "steps"));
  attr(c.files, "aria-label", say(s, "export"));
  c.steps.hidden = !s.data.rules.length;
  for (const name in word) {
    put(c[name].children[0], glyph[name]);
    put(c[name].children[1], say(s, word[name]));
  }
  c.back.disabled = s.tick === 0;
  c.skip.disabled = s.tick === null;
  c.view.hidden = !hasMaps(s);
  put(c.view, say(s, s.wantsDigits ? "colours" : "digits"));
  put(c.svg, "SVG");
  attr(c.svg, "aria-label", say(s, "svg"));
  attr(c.svg, "title", say(s, "svg"));
  while (c.files.children.length > s.order.length + 1) c.files.lastChild.remove();
  s.order.forEach((f, k) => {
    const node = c.files.children[k + 1] ?? button(c.files, "quiet", () => saveCsv(s.order[k]));
    put(node, `CSV ${titleOf(f)}`);
    for (const name of ["aria-label", "title"]) attr(node, name, say(s, "csv", { symbol: titleOf(f) }));
  });
}
