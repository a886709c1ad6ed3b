// Files to download, and what a picture is made of. Other components use this file too.

import { make } from "./dom.js";

/**
 * @param {string} name
 * @param {string} type
 * @param {string} text
 */
export function save(name, type, text) {
  const link = make("a"), url = URL.createObjectURL(new Blob([text], { type }));
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/**
 * As XML takes it; what XML has no way to write (U+FFFE, a lone surrogate) becomes the replacement character.
 * @param {string} text
 */
export function escaped(text) {
  return text.replace(/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/**
 * A computed colour, which may be color(srgb r g b / a), in what SVG readers know.
 * @param {string} colour
 * @param {string} [name]
 */
export function svgColour(colour, name = "fill") {
  const n = colour.match(/-?[\d.]+(e-?\d+)?/g).map(Number), unit = colour.startsWith("color") ? 255 : 1;
  return `${name}="rgb(${n.slice(0, 3).map((v) => Math.round(v * unit)).join()})" ${name}-opacity="${n[3] ?? 1}"`;
}

/** @param {CSSStyleDeclaration} style */
export function svgFont(style) {
  return `font-family="${escaped(style.fontFamily)}" font-size="${style.fontSize}" font-weight="${style.fontWeight}" ${
    svgColour(style.color)
  }`;
}

/**
 * The whole file: parts on the page's ground, with the hatching that stands for what is hidden.
 * @param {HTMLElement} root
 * @param {{ width: number, height: number }} size
 * @param {string[]} parts
 */
export function svgFile(root, { width, height }, parts) {
  const ink = getComputedStyle(root).color, size = `width="${width}" height="${height}"`;
  const ground = getComputedStyle(root).getPropertyValue("--st-background-color") || "#fff";
  const hatch =
    `<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M0 5L5 0" stroke="${ink}" stroke-opacity=".35"/></pattern></defs>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${width} ${height}">${hatch}<rect ${size} fill="${
    escaped(ground)
  }"/>${parts.join("")}</svg>`;
}
