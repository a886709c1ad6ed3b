// Pairs of columns that turn together: where cos and sin come from, what a turn reads, and the clock hands beside it.

import { setPin } from "./change.js";
import { show } from "./dock.js";
import { SVG, attr, make, put, say } from "./dom.js";
import { shownRows, value } from "./frames.js";
import { inBrackets, printed } from "./numbers.js";
import { point } from "./point.js";
import { isBlank } from "./steps.js";

export const ANGLE = { cos: Math.cos, sin: Math.sin };            // rules whose cells are made from positions and θ alone

// The pair of a column: its number, its partner, and whether it is the second; undefined for what is not turned.
export function pairOf(rule, j) {
  const p = Math.max(rule.first.indexOf(j), rule.second.indexOf(j));
  return p < 0 ? undefined : { p, second: rule.second[p] === j, partner: rule.second[p] === j ? rule.first[p] : rule.second[p] };
}
export function turnSources(s, rule, i, j, to) {
  const source = s.frames[rule.in], pair = pairOf(rule, j);
  to.cell(source, i, j);
  if (!pair) return;
  to.cell(source, i, pair.partner);
  to.cell(s.frames[rule.cos], i, pair.p); to.cell(s.frames[rule.sin], i, pair.p);
}
// What (i, j) of frame f goes into.
export function turnUses(s, rule, f, i, j) {
  const pair = f.id === rule.in ? pairOf(rule, j) : { p: j, partner: rule.second[j] };
  const own = f.id === rule.in ? j : rule.first[j];
  return (pair ? [own, pair.partner] : [own]).sort((a, b) => a - b).map((column) => [s.frames[rule.out], i, column]);
}
export function joinTurn(rule, join) {
  for (const id of [rule.in, rule.cos, rule.sin]) join(id + "/r", rule.out + "/r");
  join(rule.in + "/c", rule.out + "/c"); join(rule.cos + "/c", rule.sin + "/c");
}

// A small angle is written with three digits where the chosen decimals would leave nothing of it.
const SMALL = 1e-4;
function angleText(s, v) {
  const text = show(s, v);
  return text !== "≈0" ? text : Math.abs(v) < SMALL ? v.toExponential(2).replace("e-", "e−") : String(Number(v.toPrecision(3)));
}
function angleRule(s, rule) { return s.maker[rule.cos]; }
function angleOf(s, rule, i, p) { const a = angleRule(s, rule); return a.positions[i - s.frames[rule.cos].r0] * a.theta[p]; }

export function angleStep(s, rule, f, i, j) {
  const position = rule.positions[i - f.r0], at = angleText(s, position), theta = angleText(s, rule.theta[j]);
  const angle = angleText(s, position * rule.theta[j]);
  return { text: `${rule.op}(${at}⁀×⁀${theta}) =⁀${rule.op}(${angle})`, hand: ANGLE[rule.op](printed(angle.replace("−", "-"))) };
}
export function turnStep(s, rule, i, j) {
  const source = s.frames[rule.in], pair = pairOf(rule, j), own = value(source, i, j);
  if (own === undefined) return { missing: true };
  if (!pair) return { text: `${source.label}[${i + 1},${j + 1}] (${say(s, "unturned")})`.replace(/ /g, "⁀"), hand: own };
  const other = value(source, i, pair.partner), [c, d] = [rule.cos, rule.sin].map((id) => value(s.frames[id], i, pair.p));
  if ([other, c, d].includes(undefined)) return { missing: true };
  const [a, b, cos, sin] = [own, other, c, d].map((v) => show(s, v)), sign = pair.second ? 1 : -1;
  return {
    text: `${inBrackets(a)}×${inBrackets(cos)} ${sign > 0 ? "+" : "−"}⁀${inBrackets(b)}×${inBrackets(sin)}`,
    hand: printed(a) * printed(cos) + sign * printed(b) * printed(sin),
  };
}

// ---- the clock hands of one row ----

const RADIUS = 40, MOST_LARGE = 8;
function svgNode(parent, name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  parent.append(node);
  return node;
}

// What the hands take beside the frames of a line, in pixels; where there are many they have a line of their own.
export function dialsWidth(s) {
  const n = turnRule(s)?.first.length ?? 0, rem = parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
  return n > MOST_LARGE ? 0 : n && (n * 4.3 + 0.8) * rem;
}
function turnRule(s) { return s.data.rules.find((rule) => rule.op === "rotate"); }
// The row whose hands are shown: the one pointed at, else the last one, else the pinned.
function dialRow(s, out, at) {
  const [from, to] = shownRows(out);
  const inside = (i) => i >= from && i < to;
  if (at && s.frames[at.id].rg === out.rg && inside(at.i)) s.dialRow = at.i;
  else if (!inside(s.dialRow)) s.dialRow = s.pin && s.frames[s.pin.id]?.rg === out.rg && inside(s.pin.row) ? s.pin.row : from;
  return s.dialRow;
}
function litPair(rule, at) {
  if (!at) return -1;
  if (at.id === rule.cos || at.id === rule.sin) return at.j;
  return at.id === rule.in || at.id === rule.out ? pairOf(rule, at.j)?.p ?? -1 : -1;
}

function buildDial(s, box, p) {
  const node = make("button", "dial", box);
  node.type = "button"; node.tabIndex = p ? -1 : 0;
  const svg = svgNode(node, "svg", { viewBox: "-48 -48 96 96", "aria-hidden": "true" });
  for (const part of ["name", "theta", "angle"]) make("span", `dial-${part}`, node);
  const go = () => ({ id: turnRule(s).out, i: s.dialRow, j: turnRule(s).first[p], pair: p });
  node.onpointerenter = (e) => { if (e.pointerType !== "touch") { s.hover = go(); point(s); } };
  node.onpointerleave = (e) => { if (!box.contains(e.relatedTarget)) { s.hover = null; point(s); } };   // not between two hands
  node.onfocus = () => { for (const other of box.children) other.tabIndex = other === node ? 0 : -1; s.focus = go(); point(s); };
  node.onclick = () => { const { id, i, j } = go(); setPin(s, { id, row: i, col: j }); };
  node.onkeydown = (e) => {
    const to = { ArrowRight: p + 1, ArrowDown: p + 1, ArrowLeft: p - 1, ArrowUp: p - 1, Home: 0, End: box.children.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    box.children[to]?.focus();
  };
  return { node, svg };
}

// The way from one direction to another as the hand turned, whole turns as a full circle; y points up.
function arc(from, angle, radius) {
  const turn = Math.abs(angle) >= 2 * Math.PI ? angle % (2 * Math.PI) : angle, to = from + turn;
  const at = (a) => `${(radius * Math.cos(a)).toFixed(2)} ${(-radius * Math.sin(a)).toFixed(2)}`;
  return `M${at(from)}A${radius} ${radius} 0 ${Math.abs(turn) > Math.PI ? 1 : 0} ${turn > 0 ? 0 : 1} ${at(to)}`;
}
function drawHands(svg, before, after, angle, length) {
  svg.replaceChildren();
  const tip = ([a, b]) => ({ x1: 0, y1: 0, x2: (a / length * RADIUS).toFixed(2), y2: (-b / length * RADIUS).toFixed(2) });
  const own = Math.hypot(...before) / length * RADIUS;
  svgNode(svg, "path", { d: "M-44 0H44M0 -44V44", stroke: "currentColor", "stroke-opacity": .2, "vector-effect": "non-scaling-stroke" });
  svgNode(svg, "circle", { r: own.toFixed(2), fill: "none", stroke: "currentColor", "stroke-opacity": .35, "vector-effect": "non-scaling-stroke" });
  if (own) {
    const start = Math.atan2(before[1], before[0]), radius = Math.max(6, own * .45);
    if (Math.abs(angle) >= 2 * Math.PI) svgNode(svg, "circle", { r: radius, fill: "none", stroke: "currentColor", "stroke-opacity": .35, "stroke-width": 2 });
    if (angle && after) svgNode(svg, "path", { d: arc(start, angle, radius), fill: "none", stroke: "currentColor", "stroke-width": 3, "stroke-opacity": .6 });
    svgNode(svg, "line", { ...tip(before), stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": "4 3", "stroke-opacity": .75 });
    if (after) svgNode(svg, "line", { ...tip(after), stroke: "currentColor", "stroke-width": 4, "stroke-linecap": "round" });
  }
}

function dialBox(s, rule) {
  if (s.dials?.list.length === rule.first.length) return s.dials;
  s.dials?.box.remove();
  const box = make("div", "dials"), title = make("div", "dial-title", box), row = make("div", "dial-row", box);
  row.setAttribute("role", "group");
  s.dials = { box, row, title };
  s.dials.list = rule.first.map((_, p) => buildDial(s, row, p));
  return s.dials;
}

// The hands of a row before (dashed) and after (thick), all on one scale.
export function drawDials(s, at) {
  const rule = turnRule(s);
  if (!rule) { s.dials?.box.remove(); s.dials = null; return; }
  const { box, row, title, list } = dialBox(s, rule), out = s.frames[rule.out], source = s.frames[rule.in];
  if (s.eq.lastChild !== box) s.eq.append(box);
  const angles = angleRule(s, rule), i = dialRow(s, out, at), lit = litPair(rule, at), label = out.rows.labels[i - out.r0];
  box.style.setProperty("--role", `var(--role-${out.role})`);
  box.classList.toggle("many", list.length > MOST_LARGE);
  const position = angles.positions[i - s.frames[rule.cos].r0];
  const words = say(s, label === undefined ? "dials" : "dials_named", { symbol: out.label, i: i + 1, a: label, position });
  put(title, words); attr(row, "aria-label", words);
  const pairs = rule.first.map((a, p) => [source, out].map((f) => [value(f, i, a), value(f, i, rule.second[p])]));
  const length = Math.max(...pairs.map(([before]) => Math.hypot(...before)).filter(Number.isFinite), 1e-30);
  list.forEach((dial, p) => {
    const blank = [rule.first[p], rule.second[p]].some((j) => isBlank(s, out, i, j));
    drawDial(s, dial, p, pairs[p], { angle: angleOf(s, rule, i, p), theta: angles.theta[p], blank, length });
    dial.node.classList.toggle("lit", p === lit);
  });
}
function drawDial(s, { node, svg }, p, [before, after], { angle, theta, blank, length }) {
  const secret = after.some(Number.isNaN), unseen = secret || blank;
  const key = [...before, ...after, angle, unseen, length].join();
  if (node.dataset.key !== key) drawHands(svg, before.map((v) => v || 0), unseen ? null : after, angle, length);
  node.dataset.key = key;
  const written = (pair) => pair.map((v) => show(s, v)).join("; "), text = secret ? "?" : angleText(s, angle);
  put(node.children[1], say(s, "dial_name", { p: p + 1 }));
  put(node.children[2], `θ ${angleText(s, theta)}`);
  put(node.children[3], `∠ ${text}`);
  attr(node, "aria-label", say(s, "dial", { p: p + 1, before: written(before), after: unseen ? "?" : written(after), angle: text }));
}

// Pointing at a hand means both cells of its pair.
export function pairCells(s, at) {
  const rule = turnRule(s);
  return at?.pair === undefined || !rule ? [] : [[s.frames[rule.out], at.i, rule.second[at.pair]]];
}
export function pairTitle(s, at) {
  const rule = turnRule(s), angles = angleRule(s, rule), f = s.frames[rule.cos], p = at.pair;
  const angle = Number.isNaN(value(f, at.i, p)) ? "?" : angleText(s, angleOf(s, rule, at.i, p));
  return say(s, "pair", { p: p + 1, at: angleText(s, angles.positions[at.i - f.r0]), theta: angleText(s, angles.theta[p]), angle });
}
// The hands for the SVG file, at their places on screen.
export function dialParts(s, place) {
  return (s.dials?.list ?? []).map(({ svg, node }) => {
    const r = svg.getBoundingClientRect(), inner = svg.innerHTML.replaceAll("currentColor", place.ink(getComputedStyle(node).color));
    return `<svg ${place.at(r.x, r.y)} width="${r.width}" height="${r.height}" viewBox="-48 -48 96 96">${inner}</svg>`;
  });
}
