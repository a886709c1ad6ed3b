// The clock hands of one row: a dial for each pair.

import { attr, make, put, say, SVG } from "./dom.js";
import { value } from "./frames.js";
import { angleText, pairOf } from "./pairs.js";
import { angleOf, angleRule, MOST_LARGE, turnRule } from "./turning.js";
import { setPin } from "./pins.js";
import { isBlank } from "./ticks.js";
import { shownRows } from "./windows.js";
import { show } from "./words.js";
/** @import { Frame, Place, Rule, State } from "./types.d.ts" */

const RADIUS = 40;

/**
 * @param {Element} parent
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 */
function svgNode(parent, name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, String(attributes[key]));
  parent.append(node);
  return node;
}

/**
 * The row whose hands are shown: the one pointed at, else the last one, else the pinned.
 * @param {State} s
 * @param {Frame} out
 * @param {Place} at
 */
function dialRow(s, out, at) {
  const [from, to] = shownRows(out);
  const inside = (i) => i >= from && i < to;
  if (at && s.frames[at.id].rg === out.rg && inside(at.i)) s.dialRow = at.i;
  else if (!inside(s.dialRow)) {
    s.dialRow = s.pin && s.frames[s.pin.id]?.rg === out.rg && inside(s.pin.row) ? s.pin.row : from;
  }
  return s.dialRow;
}

/**
 * @param {Rule} rule
 * @param {Place} at
 */
function litPair(rule, at) {
  if (!at) return -1;
  if (at.id === rule.cos || at.id === rule.sin) return at.j;
  return at.id === rule.in || at.id === rule.out ? pairOf(rule, at.j)?.p ?? -1 : -1;
}

/**
 * @param {State} s
 * @param {HTMLElement} box
 * @param {number} p
 */
function buildDial(s, box, p) {
  const node = make("button", "dial", box);
  node.type = "button";
  node.tabIndex = p ? -1 : 0;
  const svg = svgNode(node, "svg", { viewBox: "-48 -48 96 96", "aria-hidden": "true" });
  for (const part of ["name", "theta", "angle"]) make("span", `dial-${part}`, node);
  const go = () => ({ id: turnRule(s).out, i: s.dialRow, j: turnRule(s).first[p], pair: p });
  node.onpointerenter = (e) => {
    if (e.pointerType !== "touch") {
      s.hover = go();
      s.point();
    }
  };
  node.onpointerleave = (e) => {
    if (!box.contains(/** @type {Node} */ (e.relatedTarget))) {
      s.hover = null;
      s.point();
    }
  }; // not between two hands
  node.onfocus = () => {
    for (const { node: other } of s.dials.list) other.tabIndex = other === node ? 0 : -1;
    s.focus = go();
    s.point();
  };
  node.onclick = () => {
    const { id, i, j } = go();
    setPin(s, { id, row: i, col: j });
  };
  node.onkeydown = (e) => {
    const to = {
      ArrowRight: p + 1,
      ArrowDown: p + 1,
      ArrowLeft: p - 1,
      ArrowUp: p - 1,
      Home: 0,
      End: box.children.length - 1,
    }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    s.dials.list[to]?.node.focus();
  };
  return { node, svg };
}

/**
 * The way from one direction to another as the hand turned, whole turns as a full circle; y points up.
 * @param {number} from
 * @param {number} angle
 * @param {number} radius
 */
function arc(from, angle, radius) {
  const turn = Math.abs(angle) >= 2 * Math.PI ? angle % (2 * Math.PI) : angle, to = from + turn;
  const at = (a) => `${(radius * Math.cos(a)).toFixed(2)} ${(-radius * Math.sin(a)).toFixed(2)}`;
  return `M${at(from)}A${radius} ${radius} 0 ${Math.abs(turn) > Math.PI ? 1 : 0} ${turn > 0 ? 0 : 1} ${at(to)}`;
}

/**
 * @param {SVGElement} svg
 * @param {number[]} before
 * @param {number[] | null} after
 * @param {number} angle
 * @param {number} length
 */
function drawHands(svg, before, after, angle, length) {
  svg.replaceChildren();
  const tip = (/** @type {number[]} */ [a, b]) => ({
    x1: 0,
    y1: 0,
    x2: (a / length * RADIUS).toFixed(2),
    y2: (-b / length * RADIUS).toFixed(2),
  });
  const own = Math.hypot(...before) / length * RADIUS;
  svgNode(svg, "path", {
    d: "M-44 0H44M0 -44V44",
    stroke: "currentColor",
    "stroke-opacity": .2,
    "vector-effect": "non-scaling-stroke",
  });
  svgNode(svg, "circle", {
    r: own.toFixed(2),
    fill: "none",
    stroke: "currentColor",
    "stroke-opacity": .35,
    "vector-effect": "non-scaling-stroke",
  });
  if (own) {
    const start = Math.atan2(before[1], before[0]), radius = Math.max(6, own * .45);
    if (Math.abs(angle) >= 2 * Math.PI) {
      svgNode(svg, "circle", {
        r: radius,
        fill: "none",
        stroke: "currentColor",
        "stroke-opacity": .35,
        "stroke-width": 2,
      });
    }
    if (angle && after) {
      svgNode(svg, "path", {
        d: arc(start, angle, radius),
        fill: "none",
        stroke: "currentColor",
        "stroke-width": 3,
        "stroke-opacity": .6,
      });
    }
    svgNode(svg, "line", {
      ...tip(before),
      stroke: "currentColor",
      "stroke-width": 2,
      "stroke-dasharray": "4 3",
      "stroke-opacity": .75,
    });
    if (after) {
      svgNode(svg, "line", { ...tip(after), stroke: "currentColor", "stroke-width": 4, "stroke-linecap": "round" });
    }
  }
}

/**
 * @param {State} s
 * @param {Rule} rule
 */
function dialBox(s, rule) {
  if (s.dials?.list.length === rule.first.length) return s.dials;
  s.dials?.box.remove();
  const box = make("div", "dials"), title = make("div", "dial-title", box), row = make("div", "dial-row", box);
  row.setAttribute("role", "group");
  s.dials = { box, row, title, list: rule.first.map((_, p) => buildDial(s, row, p)) };
  return s.dials;
}

/**
 * The hands of a row before (dashed) and after (thick), all on one scale.
 * @param {State} s
 * @param {Place} at
 */
export function drawDials(s, at) {
  const rule = turnRule(s);
  if (!rule) {
    s.dials?.box.remove();
    s.dials = null;
    return;
  }
  const { box, row, title, list } = dialBox(s, rule), out = s.frames[rule.out], source = s.frames[rule.in];
  if (s.eq.lastChild !== box) s.eq.append(box);
  const angles = angleRule(s, rule),
    i = dialRow(s, out, at),
    lit = litPair(rule, at),
    label = out.rows.labels[i - out.r0];
  box.style.setProperty("--role", `var(--role-${out.role})`);
  box.classList.toggle("many", list.length > MOST_LARGE);
  const position = angles.positions[i - s.frames[rule.cos].r0];
  const words = say(s, label === undefined ? "dials" : "dials_named", {
    symbol: out.label,
    i: i + 1,
    a: label,
    position,
  });
  put(title, words);
  attr(row, "aria-label", words);
  const pairs = rule.first.map((a, p) => [source, out].map((f) => [value(f, i, a), value(f, i, rule.second[p])]));
  const length = Math.max(...pairs.map(([before]) => Math.hypot(...before)).filter(Number.isFinite), 1e-30);
  list.forEach((dial, p) => {
    const blank = [rule.first[p], rule.second[p]].some((j) => isBlank(s, out, i, j));
    drawDial(s, dial, p, pairs[p], { angle: angleOf(s, rule, i, p), theta: angles.theta[p], blank, length });
    dial.node.classList.toggle("lit", p === lit);
  });
}

/**
 * @param {State} s
 * @param {any} dial
 * @param {number} p
 * @param {any} dial
 * @param {any} dial
 */
function drawDial(s, { node, svg }, p, [before, after], { angle, theta, blank, length }) {
  const secret = after.some(Number.isNaN), unseen = secret || blank;
  const key = [...before, ...after, angle, unseen, length].join();
  if (node.dataset.key !== key) drawHands(svg, before.map((v) => v || 0), unseen ? null : after, angle, length);
  node.dataset.key = key;
  const written = (pair) => pair.map((v) => show(s, v)).join("; "), text = secret ? "?" : angleText(s, angle);
  put(node.children[1], say(s, "dial_name", { p: p + 1 }));
  put(node.children[2], `θ ${angleText(s, theta)}`);
  put(node.children[3], `∠ ${text}`);
  attr(
    node,
    "aria-label",
    say(s, "dial", { p: p + 1, before: written(before), after: unseen ? "?" : written(after), angle: text }),
  );
}

/**
 * The hands for the SVG file, at their places on screen.
 * @param {State} s
 * @param {{ at: (x: number, y: number) => string, ink: (colour: string) => string }} place
 */
export function dialParts(s, place) {
  return (s.dials?.list ?? []).map(({ svg, node }) => {
    const r = svg.getBoundingClientRect(),
      inner = svg.innerHTML.replaceAll("currentColor", place.ink(getComputedStyle(node).color));
    return `<svg ${place.at(r.x, r.y)} width="${r.width}" height="${r.height}" viewBox="-48 -48 96 96">${inner}</svg>`;
  });
}
