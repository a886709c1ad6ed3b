// The dock: the arithmetic of a cell in digits.

import { pinKey } from "./change.js";
import { attr, make, put, say } from "./dom.js";
import { rowSum } from "./draw.js";
import { REDUCES, colNumber, colOf, eachUse, isEdited, isFresh, isUnwritten, makerOf, part, rowNumber, rowOf, shownCols, value } from "./frames.js";
import { lookupStep } from "./lookup.js";
import { cells, formatNumber, fullValue, inBrackets, printed, readable } from "./numbers.js";
import { ANGLE, angleStep, pairCells, pairTitle, turnStep, turnUses } from "./rotation.js";
import { groupedStep, movedTo, placeName, trail } from "./reshape.js";
import { isBlank } from "./steps.js";
import { headInWords } from "./wiring.js";

export function show(s, v) { return Number.isNaN(v) ? "?" : formatNumber(v, s.data.decimals); }
// What a reader of the printed digits gets: rounding to the printed decimals, halves away from zero.
function byHand(s, x) { return printed(formatNumber(x + Math.sign(x) * 1e-11 * Math.max(1, Math.abs(x)), s.data.decimals)); }

// In the arithmetic "⁀" is a space at which no line breaks: a number stays with its operator.
export function joinTerms(s, terms) {
  const [most, first, last] = s.fit.stack ? [4, 2, 1] : [8, 3, 2];
  if (terms.length <= most) return terms.join(" +⁀");
  return [...terms.slice(0, first), "…", ...terms.slice(-last)].join(" +⁀") + ` (${say(s, "terms", { n: terms.length }).replace(/ /g, "⁀")})`;
}

// One step as { text, hand } where hand is what the printed digits give (NaN: not to be compared), or a missing part.
function stepOf(s, rule, f, i, j) {
  const F = s.frames, left = F[rule.left], right = F[rule.right];
  if (rule.op === "matmul") return productStep(s, rule, left, right, i, j);
  if (rule.op === "rotate") return turnStep(s, rule, i, j);
  if (ANGLE[rule.op]) return angleStep(s, rule, f, i, j);
  if (rule.op === "grouped") return groupedStep(s, rule, i, j);
  if (rule.op === "move") return { text: trail(s, rule, i, j).join(" =⁀"), hand: value(f, i, j) };
  if (rule.op === "softmax") return softmaxStep(s, F[rule.in], i, j);
  if (REDUCES[rule.op]) return reductionStep(s, rule, F[rule.in], i);
  if (COPIES[rule.op]) return copyStep(s, rule, f, i, j);
  if (rule.op === "exp") {
    const x = value(F[rule.in], i, j), text = x === undefined ? "" : show(s, x);
    return x === undefined ? { missing: true } : { text: `e^(${text})`, hand: Math.exp(printed(text)) };
  }
  const a = value(rule.op === "scale" ? F[rule.in] : left, i, j);
  const b = rule.op === "scale" ? rule.divisor : value(right, rowOf(right, i), colOf(right, j));
  if (a === undefined || b === undefined) return { missing: true };
  const x = show(s, a), y = show(s, b), [p, q] = [printed(x), printed(y)];
  const [sign, hand] = { scale: ["÷", p / q], divide: ["÷", p / q], add: ["+", p + q], multiply: ["×", p * q] }[rule.op] ?? ["−", p - q];
  return { text: `${x}⁀${sign}⁀${inBrackets(y)}`, hand };
}

// A number taken over from another place.
const COPIES = { transpose: true, append: true, lookup: true };
function copyStep(s, rule, f, i, j) {
  const F = s.frames, source = F[rule.in], hand = value(f, i, j);
  if (rule.op === "lookup") return { ...lookupStep(s, rule, F[rule.left], F[rule.right], i, j), hand };
  const from = (g, r, c, note) => ({ text: `${g.label}[${r + 1},${c + 1}]`, hand, note });
  if (rule.op === "transpose") return from(source, j, i);
  return from(...appended(F[rule.left], F[rule.right], i), j, say(s, i < F[rule.left].rows.total ? "cached" : "computed"));
}

// A row brought down to one number: its largest, or its sum.
function reductionStep(s, rule, f, i) {
  if (f.nc < f.cols.total) return { missing: true };
  const row = cells(f.nc).map((c) => value(f, i, c + f.c0)), texts = row.map((v) => show(s, v));
  if (row.some(Number.isNaN)) return { text: "?", hand: NaN };
  if (rule.op === "rowmax") return { text: `max(${texts.join("; ")})`, hand: Math.max(...texts.map(printed)) };
  return { text: joinTerms(s, texts.map((t, k) => k ? inBrackets(t) : t)), hand: texts.reduce((sum, t) => sum + printed(t), 0) };
}

function productStep(s, rule, left, right, i, j) {
  const whole = left.nc === left.cols.total && right.nr === right.rows.total;
  if (!whole && !(rule.before && left.c0 === right.r0 && left.nc === right.nr)) return { missing: true };
  const [first, end] = whole ? [0, left.nc] : shownCols(left), terms = [];
  let hand = 0;
  for (let d = first; d < end; d++) {
    const a = value(left, i, d), b = value(right, d, j + right.cs);
    if (a === undefined || b === undefined) return { missing: true };
    const x = show(s, a), y = show(s, b);
    terms.push(`${inBrackets(x)}×${inBrackets(y)}`);
    hand += printed(x) * printed(y);
  }
  const parts = [joinTerms(s, terms)];
  for (const [a, b, sum] of whole ? [] : restOf(s, rule, left, right, i, j, first, end)) if (a < b) {
    const text = show(s, sum), written = say(s, "subtotal", { sum: inBrackets(text), a: a + 1, b }).replace(/ /g, "⁀");
    parts[a ? "push" : "unshift"](written); hand += printed(text);
  }
  if (rule.bias) {
    const b = show(s, value(s.frames[rule.bias], 0, j + s.frames[rule.bias].cs) ?? NaN);
    parts.push(inBrackets(b)); hand += printed(b);
  }
  return { text: parts.join(" +⁀"), hand };
}

// What the terms before and after those on screen add up to: [first, end, sum]. Python sent the sums over what was not
// sent itself.
function restOf(s, rule, left, right, i, j, first, end) {
  const out = s.frames[rule.out], k = (i - out.r0) * out.nc + j - out.c0;
  const sum = (a, b) => { let t = 0; for (let d = a; d < b; d++) t += value(left, i, d) * value(right, d, j + right.cs); return t; };
  return [[0, first, rule.before[k] + sum(left.c0, first)], [end, left.cols.total, sum(end, left.c0 + left.nc) + rule.after[k]]];
}

function softmaxStep(s, f, i, j) {
  if (f.nc < f.cols.total) return { missing: true };
  const row = cells(f.nc).map((c) => value(f, i, c + f.c0)), top = Math.max(...row);
  if (row.some(Number.isNaN)) return { text: "?", hand: NaN };
  if (top === -Infinity) return { text: say(s, "empty_row"), hand: NaN };
  const text = (v) => `e^(${show(s, v)}⁀−⁀${inBrackets(show(s, top))})`, power = (v) => Math.exp(v - top);
  const hand = (v) => Math.exp(printed(show(s, v)) - printed(show(s, top))), sum = (g) => row.reduce((t, v) => t + g(v), 0);
  const own = row[j - f.c0], parts = `${show(s, power(own))}⁀÷⁀${show(s, sum(power))}`;
  return { text: `${text(own)} ÷⁀(${joinTerms(s, row.map(text))}) =⁀${parts}`, hand: hand(own) / sum(hand) };
}

// The steps from the last product on: 0×2 + 1×1 = 1, then 1 ÷ 1.414 = 0.707.
function chain(s, f, i, j) {
  const rule = makerOf(s, f, i, j);
  if (!rule) return [];
  const before = s.frames[rule.op === "scale" ? rule.in : rule.op === "add" ? rule.left : ""];
  const inner = before && s.maker[before.id]?.op !== "softmax" ? chain(s, before, i, j) : [];
  const v = value(f, i, j), result = show(s, v);
  const own = Number.isNaN(v) ? { text: "?", hand: NaN } : stepOf(s, rule, f, i, j);
  const text = own.missing || own.text === "?" ? result : `${own.text} =⁀${result}`;
  const rounded = Number.isFinite(own.hand) && Number.isFinite(v) && byHand(s, own.hand) !== printed(result);
  return [...inner, { text, rounded, missing: own.missing, note: own.note }];
}

// Right-to-left tokens are isolated, so that they do not turn the sentence round.
function token(label) { return /[\u0590-\u08ff\ufb1d-\ufefc]/.test(label) ? `\u2068${label}\u2069` : label; }
function labelsAt(f, i, j) { return { i: rowNumber(f, i), j: colNumber(f, j), a: f.rows.labels[i - f.r0], b: f.cols.labels[j - f.c0] }; }

function arithmetic(s, f, i, j) {
  const name = placeName(f, i, j), v = value(f, i, j), notes = [];
  if (isUnwritten(f, i, j)) return { main: name, notes: [say(s, "unwritten")] };
  if (isBlank(s, f, i, j)) return { main: name, notes: [say(s, "blank")] };
  if (Number.isNaN(v)) return { main: `${name} =⁀?`, notes: [s.data.hidden_note].filter(Boolean) };
  const steps = chain(s, f, i, j), at = labelsAt(f, i, j), named = at.a !== undefined && at.b !== undefined;
  let main = `${name} =⁀${steps.length ? steps[0].text : f.whole ? v : show(s, v)}`;
  if (steps.length > 1) {
    const asks = ["score", "weight", "mask"].includes(f.role) && f.rows.axis === "T" && f.cols.axis === "T";
    const who = asks ? say(s, named ? "asks_named" : "asks", { ...at, a: token(at.a ?? ""), b: token(at.b ?? "") }) + ": " : "";
    main = `${name}: ${who}${steps.map((step) => step.text).join(";  ")}`;
  }
  notes.push(...steps.map((step) => step.note).filter(Boolean));
  if (steps.some((step) => step.missing)) notes.push(say(s, "outside"));
  if (steps.some((step) => step.rounded)) notes.push(say(s, "rounded"));
  if (f.row_sums && f.nc === f.cols.total) notes.push(...rowNote(s, f, i));
  if (at.a !== undefined && steps.length < 2) notes.push(say(s, "row_named", { ...at, a: token(at.a) }));
  if (at.b !== undefined && steps.length < 2) notes.push(say(s, "col_named", { ...at, b: token(at.b) }));
  if (!steps.length) notes.push(...usesOf(s, f, i, j));
  if (isFresh(f, i, j)) notes.push(say(s, "fresh"));
  if (isEdited(s, f, i, j)) notes.push(say(s, s.maker[f.id] ? "cut" : "edited"));
  else if (f.editable) notes.push(say(s, "edit_hint"));
  notes.push(say(s, "full", { value: readable(fullValue(v)) }));
  return { main, notes };
}

function usesOf(s, f, i, j) {
  const cellsOf = (rule) => {
    const symbol = s.frames[rule.out].label;
    if (rule.op === "move") return placeName(s.frames[rule.out], ...movedTo(s, rule, i, j));
    if (COPIES[rule.op] && !(rule.op === "lookup" && rule.left === f.id)) {
      const places = [], cell = (g, r, c) => places.push(`${symbol}[${r + 1},${c + 1}]`);
      eachUse(s, rule, f, i, j, { cell });
      return places.join(" · ");
    }
    if (rule.op === "rotate") return turnUses(s, rule, f, i, j).map(([, r, c]) => `${symbol}[${r + 1},${c + 1}]`).join(" · ");
    if (rule.op === "softmax" || ((rule.op === "matmul" || rule.op === "lookup") && rule.left === f.id)) return say(s, "row_of", { symbol, i: i + 1 });
    if (rule.op === "matmul" || (rule.right === f.id && f.rows.total === 1)) return say(s, "col_of", { symbol, j: j - f.cs + 1 });
    return `${symbol}[${i + 1},${j + 1}]`;
  };
  const uses = (s.users[f.id] ?? []).map(cellsOf).filter(Boolean);
  if (!uses.length && s.users[f.id]?.some((rule) => rule.op === "lookup")) return [say(s, "unread")];
  return uses.length ? [say(s, "feeds", { cells: uses.join(" · ") })] : [];
}

function rowNote(s, f, i) {
  const row = cells(f.nc).map((c) => value(f, i, c + f.c0));
  if (row.some(Number.isNaN)) return [];
  const sum = show(s, rowSum(f, i)), hand = row.reduce((t, v) => t + printed(show(s, v)), 0);
  return byHand(s, hand) === printed(sum) ? [] : [say(s, "row_rounded", { hand: show(s, byHand(s, hand)), sum })];
}

function putMain(node, text) {
  if (node.dataset.text === text) return;
  node.dataset.text = text;
  node.replaceChildren();
  for (const part of text.split(/( )/)) {
    if (part.includes("⁀")) make("span", "tied", node).textContent = part.replaceAll("⁀", " "); else node.append(part);
  }
}

export function drawDock(s, at) {
  const d = s.dock, f = at && s.frames[at.id];
  const found = f ? arithmetic(s, f, at.i, at.j) : { main: s.head ? headInWords(s) : "", notes: s.head ? [] : [say(s, "idle")] }, { notes } = found;
  const main = f && at.pair !== undefined ? `${pairTitle(s, at)}: ${[found.main, ...pairCells(s, at).map(([g, i, j]) => arithmetic(s, g, i, j).main)].join(";  ")}` : found.main;
  const done = at && !s.hover && s.ticks[s.tick]?.done;
  if (done) notes.unshift(say(s, done, { symbol: f.label, i: at.i + 1 }));
  if (s.pin && at && pinKey(s.pin) === [at.id, at.i, at.j].join() && !s.fit.stack) notes.push(say(s, "pin_hint"));
  putMain(d.main, main); put(d.notes, notes.join("  ·  ")); put(d.alert, s.alert);
  attr(d.box, "aria-label", say(s, "dock"));
  d.unpin.hidden = !s.pin;
  put(d.unpin, `${say(s, "pinned")} ✕`); attr(d.unpin, "aria-label", say(s, "unpin"));
  d.revert.hidden = !(s.pin && f?.editable && isEdited(s, f, at.i, at.j) && s.pin.id === at.id && s.pin.row === at.i && s.pin.col === at.j);
  put(d.revert, say(s, "revert"));
  // It grows and does not shrink until the next drawing: shrinking would move what stands under the pointer.
  d.high = Math.max(d.high, d.box.offsetHeight);
  d.box.style.minHeight = d.high ? `min(${d.high}px, 40vh)` : "";
  d.box.tabIndex = d.box.scrollHeight > d.box.clientHeight + 1 ? 0 : -1;
}
