// Downloads.

import { svgBands } from "./bands.js";
import { dialParts } from "./dials.js";
import { inPixels } from "./boxes.js";
import { cells, fullValue } from "./numbers.js";
import { escaped, save, svgColour, svgFile, svgFont } from "./svg.js";
import { svgWiring } from "./wiring.js";
/** @import { Frame, State } from "./types.d.ts" */

/** @param {Frame} f */
export function saveCsv(f) {
  const text = (v) => Number.isNaN(v) ? "" : fullValue(v).replace("−", "-").replace("∞", "inf");
  save(
    `${f.name}.csv`,
    "text/csv",
    cells(f.nr).map((r) => [...f.v.subarray(r * f.nc, (r + 1) * f.nc)].map(text).join()).join("\n") + "\n",
  );
}

/**
 * The equation as it stands on screen: every filled box, bracket and piece of text at its place.
 * @param {State} s
 */
export function saveSvg(s) {
  const top = (s.wires.hidden ? s.eq : s.wires).getBoundingClientRect(), low = s.eq.getBoundingClientRect();
  const box = { x: low.x, y: top.y, width: low.width, height: low.bottom - top.y },
    ink = getComputedStyle(s.root).color,
    parts = [];
  const at = (x, y) => `x="${(x - box.x).toFixed(1)}" y="${(y - box.y).toFixed(1)}"`;
  for (const node of s.eq.querySelectorAll(".grid:not(.map) .cell")) {
    const r = node.getBoundingClientRect(), size = `width="${r.width.toFixed(1)}" height="${r.height.toFixed(1)}"`;
    parts.push(`<rect ${at(r.x, r.y)} ${size} ${svgColour(getComputedStyle(node).backgroundColor)}/>`);
    if (node.classList.contains("ninf")) parts.push(`<rect ${at(r.x, r.y)} ${size} fill="url(#hatch)"/>`);
  }
  for (const f of s.fit.cell ? s.order : []) {
    const u = s.ui[f.id],
      r = u.base.getBoundingClientRect(),
      size = `width="${r.width.toFixed(1)}" height="${r.height.toFixed(1)}"`;
    parts.push(
      `<image ${
        at(r.x, r.y)
      } ${size} preserveAspectRatio="none" style="image-rendering:pixelated" href="${u.plain.toDataURL()}"/>`,
    );
    for (const [x, y, w, h] of u.shut.map((box) => inPixels(u, box))) {
      parts.push(`<rect ${at(r.x + x, r.y + y)} width="${w}" height="${h}" fill="url(#hatch)"/>`);
    }
  }
  for (const node of s.eq.querySelectorAll(".grid")) {
    const r = node.getBoundingClientRect(),
      [x, y, X, Y] = [r.x - box.x, r.y - box.y, r.right - box.x, r.bottom - box.y];
    parts.push(
      `<path d="M${x + 6} ${y}H${x}V${Y}H${x + 6}M${X - 6} ${y}H${X}V${Y}H${X - 6}" fill="none" stroke="${ink}"/>`,
    );
  }
  parts.push(...dialParts(s, { at, ink: (colour) => `rgb(${colour.match(/[\d.]+/g).slice(0, 3)})` }));
  parts.push(...svgBands(s, box), ...svgWiring(s, box));
  const walk = document.createTreeWalker(s.root, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (walk.nextNode()) {
    const node = /** @type {Text} */ (walk.currentNode), style = getComputedStyle(node.parentElement);
    range.selectNodeContents(node);
    const r = range.getBoundingClientRect();
    if (
      !r.width || node.parentElement.closest("button:not(.dial, .head)") ||
      !node.parentElement.closest(".eq, .wires") || style.visibility === "hidden"
    ) continue;
    const up = Boolean(node.parentElement.closest(".turned")),
      room = node.parentElement.closest(".label")?.getBoundingClientRect() ?? r;
    const [long, most] = up ? [r.height, room.height] : [r.width, room.width],
      cut = long > most + 1,
      from = cut ? room : r;
    const text = cut ? node.data.slice(0, Math.max(1, Math.floor(node.length * most / long) - 1)) + "…" : node.data;
    const [x, y] = up ? [r.x + r.width * 0.77, from.bottom] : [from.x, r.y + r.height * 0.77];
    const turn = up ? ` transform="rotate(-90 ${(x - box.x).toFixed(1)} ${(y - box.y).toFixed(1)})"` : "";
    const place = `${at(x, y)}${turn} textLength="${Math.min(long, most).toFixed(1)}" lengthAdjust="spacingAndGlyphs"`;
    parts.push(`<text ${place} ${svgFont(style)}>${escaped(text)}</text>`);
  }
  save("equation.svg", "image/svg+xml", svgFile(s.root, box, parts));
}
