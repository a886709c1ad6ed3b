// Downloads.

import { make } from "./dom.js";
import { hatch, inPixels } from "./map.js";
import { cells, fullValue } from "./numbers.js";
import { place } from "./point.js";
import { dialParts } from "./rotation.js";
import { svgBands } from "./reshape.js";
import { svgWiring } from "./wiring.js";

function save(name, type, text) {
  const link = make("a"), url = URL.createObjectURL(new Blob([text], { type }));
  link.href = url; link.download = name; link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
export function saveCsv(s, f) {
  const text = (v) => Number.isNaN(v) ? "" : fullValue(v).replace("−", "-").replace("∞", "inf");
  save(`${f.name}.csv`, "text/csv", cells(f.nr).map((r) => [...f.v.subarray(r * f.nc, (r + 1) * f.nc)].map(text).join()).join("\n") + "\n");
}

// The equation as it stands on screen: every filled box, bracket and piece of text at its place.
export function saveSvg(s) {
  const top = (s.wires.hidden ? s.eq : s.wires).getBoundingClientRect(), low = s.eq.getBoundingClientRect();
  const box = { x: low.x, y: top.y, width: low.width, height: low.bottom - top.y }, ink = getComputedStyle(s.root).color, parts = [];
  const esc = (t) => t.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`), at = (x, y) => `x="${(x - box.x).toFixed(1)}" y="${(y - box.y).toFixed(1)}"`;
  for (const node of s.eq.querySelectorAll(".grid:not(.map) .cell")) {
    const r = node.getBoundingClientRect(), size = `width="${r.width.toFixed(1)}" height="${r.height.toFixed(1)}"`;
    parts.push(`<rect ${at(r.x, r.y)} ${size} ${svgFill(getComputedStyle(node).backgroundColor)}/>`);
    if (node.classList.contains("ninf")) parts.push(`<rect ${at(r.x, r.y)} ${size} fill="url(#hatch)"/>`);
  }
  for (const f of s.fit.cell ? s.order : []) {
    const u = s.ui[f.id], r = u.base.getBoundingClientRect(), size = `width="${r.width.toFixed(1)}" height="${r.height.toFixed(1)}"`;
    parts.push(`<image ${at(r.x, r.y)} ${size} preserveAspectRatio="none" style="image-rendering:pixelated" href="${u.plain.toDataURL()}"/>`);
    for (const [x, y, w, h] of u.shut.map((box) => inPixels(u, box))) parts.push(`<rect ${at(r.x + x, r.y + y)} width="${w}" height="${h}" fill="url(#hatch)"/>`);
  }
  for (const node of s.eq.querySelectorAll(".grid")) {
    const r = node.getBoundingClientRect(), [x, y, X, Y] = [r.x - box.x, r.y - box.y, r.right - box.x, r.bottom - box.y];
    parts.push(`<path d="M${x + 6} ${y}H${x}V${Y}H${x + 6}M${X - 6} ${y}H${X}V${Y}H${X - 6}" fill="none" stroke="${ink}"/>`);
  }
  parts.push(...dialParts(s, { at, ink: (colour) => `rgb(${colour.match(/[\d.]+/g).slice(0, 3)})` }));
  parts.push(...svgBands(s, box), ...svgWiring(s, box));
  const walk = document.createTreeWalker(s.root, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (walk.nextNode()) {
    const node = walk.currentNode, style = getComputedStyle(node.parentNode);
    range.selectNodeContents(node);
    const r = range.getBoundingClientRect();
    if (!r.width || node.parentNode.closest("button:not(.dial, .head)") || !node.parentNode.closest(".eq, .wires") || style.visibility === "hidden") continue;
    const up = Boolean(node.parentNode.closest(".turned")), room = node.parentNode.closest(".label")?.getBoundingClientRect() ?? r;
    const [long, most] = up ? [r.height, room.height] : [r.width, room.width], cut = long > most + 1, from = cut ? room : r;
    const text = cut ? node.data.slice(0, Math.max(1, Math.floor(node.length * most / long) - 1)) + "…" : node.data;
    const [x, y] = up ? [r.x + r.width * 0.77, from.bottom] : [from.x, r.y + r.height * 0.77];
    const turn = up ? ` transform="rotate(-90 ${(x - box.x).toFixed(1)} ${(y - box.y).toFixed(1)})"` : "";
    const place = `${at(x, y)}${turn} textLength="${Math.min(long, most).toFixed(1)}" lengthAdjust="spacingAndGlyphs"`;
    parts.push(`<text ${place} font-family="${esc(style.fontFamily)}" font-size="${style.fontSize}" font-weight="${style.fontWeight}" ${svgFill(style.color)}>${esc(text)}</text>`);
  }
  const hatch = `<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M0 5L5 0" stroke="${ink}" stroke-opacity=".35"/></pattern></defs>`;
  const size = `width="${box.width}" height="${box.height}"`, ground = getComputedStyle(s.root).getPropertyValue("--st-background-color") || "#fff";
  save("equation.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${box.width} ${box.height}">${hatch}<rect ${size} fill="${esc(ground)}"/>${parts.join("")}</svg>`);
}
// A computed colour, which may be color(srgb r g b / a), in what SVG readers know.
function svgFill(colour) {
  const n = colour.match(/-?[\d.]+(e-?\d+)?/g).map(Number), unit = colour.startsWith("color") ? 255 : 1;
  return `fill="rgb(${n.slice(0, 3).map((v) => Math.round(v * unit)).join()})" fill-opacity="${n[3] ?? 1}"`;
}
