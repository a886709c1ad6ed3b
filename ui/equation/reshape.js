// Tensors of three axes as a stack of matrices, what a reshape and a transpose move where, and products head by head.

import { inBrackets, printed } from "./numbers.js";
import { joinTerms, show } from "./dock.js";
import { make } from "./dom.js";
import { bringBoth, colNumber, related, rowNumber, shownCols, shownRows, value } from "./frames.js";

// (i, j) of out comes from this place of its source: the same place in memory, or with the first two axes exchanged.
export function movedFrom(s, rule, i, j) {
  const out = s.frames[rule.out], source = s.frames[rule.in], wide = source.cols.total;
  let flat = i * out.cols.total + j;
  if (rule.swapped) { const [n, m, w] = rule.swapped; flat = exchanged(flat, m, n, w); }
  return [Math.floor(flat / wide), flat % wide];
}
export function movedTo(s, rule, i, j) {
  const out = s.frames[rule.out], source = s.frames[rule.in], wide = out.cols.total;
  let flat = i * source.cols.total + j;
  if (rule.swapped) flat = exchanged(flat, ...rule.swapped);
  return [Math.floor(flat / wide), flat % wide];
}
// A flat place in [n, m, w] as the flat place of the same number in [m, n, w].
function exchanged(flat, n, m, w) { return (Math.floor(flat / w) % m * n + Math.floor(flat / (m * w))) * w + flat % w; }

// Q[h2,t1,d1], or Q[1,3] where the axes have no names of their own.
export function placeName(f, i, j) {
  if (f.vector) return `${f.label}[${rowNumber(f, i)}]`;
  if (!f.cols.index) return `${f.label}[${rowNumber(f, i)},${colNumber(f, j)}]`;
  const [a, b] = f.stack?.indices ?? [], n = f.stack && f.rows.total / f.stack.count;
  const row = f.stack ? `${a}${Math.floor(i / n) + 1},${b}${i % n + 1}` : `${f.rows.index}${i + 1}`;
  return `${f.label}[${row},${f.cols.index}${j + 1}]`;
}

// The symbol of a frame, with its axes where several frames hold the same numbers.
export function titleOf(f) { return f.stack ? `${f.label} [${[...f.stack.letters, f.cols.letter].join()}]` : f.label; }

// The places that a number had before it was moved here, the last move first.
export function trail(s, rule, i, j) {
  const [r, c] = movedFrom(s, rule, i, j), source = s.frames[rule.in], before = s.maker[rule.in];
  return [placeName(source, r, c), ...(before?.op === "move" ? trail(s, before, r, c) : [])];
}

// Brings into view where the number at a place came from or goes to, as the windows of these frames do not run together.
export function bringAlong(s, { id, i, j }) {
  const rule = s.maker[id], moves = rule?.op === "move" || s.users[id]?.some((use) => use.op === "move");
  if (moves) for (const [g, r, c] of related(s, s.frames[id], i, j).found) bringBoth(g, r, c);
  if (rule?.op === "grouped") bringBoth(s.frames[rule.right], rightStart(s, rule, i), j);
}

// ---- a product for each head: query head h reads matrix h ÷ group of the right operand ----

function rightStart(s, rule, i) { return Math.floor(Math.floor(i / rule.rows) / rule.group) * s.frames[rule.left].cols.total; }
export function eachGroupedSource(s, rule, i, j, to) {
  const left = s.frames[rule.left], right = s.frames[rule.right], start = rightStart(s, rule, i);
  to.row(left, i);
  for (let d = 0; d < left.cols.total; d++) to.cell(right, start + d, j);
}
export function eachGroupedUse(s, rule, f, i, j, to) {
  const out = s.frames[rule.out];
  if (rule.left === f.id) { to.row(out, i); return; }
  const first = Math.floor(i / s.frames[rule.left].cols.total) * rule.group * rule.rows;
  for (let r = first; r < first + rule.group * rule.rows; r++) to.cell(out, r, j);
}
export function groupedStep(s, rule, i, j) {
  const left = s.frames[rule.left], right = s.frames[rule.right], start = rightStart(s, rule, i), terms = [];
  let hand = 0;
  for (let d = 0; d < left.cols.total; d++) {
    const a = value(left, i, d), b = value(right, start + d, j);
    if (a === undefined || b === undefined) return { missing: true };
    const x = show(s, a), y = show(s, b);
    terms.push(`${inBrackets(x)}×${inBrackets(y)}`);
    hand += printed(x) * printed(y);
  }
  return { text: joinTerms(s, terms), hand };
}

// ---- what a stack looks like: three axes in its caption, a line where the next matrix or the next head begins ----

export function drawStackShape(f, u) {
  const letter = (axis, text) => { const n = make("i", "axis"); n.textContent = text; n.style.color = `var(--axis-${axis})`; return n; };
  const { axis, inner, letters, count } = f.stack;
  u.form.classList.add("of-stack");
  u.form.replaceChildren("[", letter(axis, letters[0]), ", ", letter(inner, letters[1]), ", ", letter(f.cols.axis, f.cols.letter), "] ",
    `${count}×${f.rows.total / count}×${f.cols.total}`);
}
export function drawBands(f, u) {
  const [i0] = shownRows(f), [j0] = shownCols(f), begins = (axis, at) => axis.band > 0 && at > 0 && at % axis.band === 0;
  u.cells.forEach((row, r) => row.forEach((cell, c) => {
    cell.classList.toggle("next-matrix", r > 0 && begins(f.rows, i0 + r));
    cell.classList.toggle("next-head", c > 0 && begins(f.cols, j0 + c));
  }));
}
// The same lines for an SVG whose upper left corner stands at `box`.
export function svgBands(s, box) {
  return [...s.eq.querySelectorAll(".next-matrix, .next-head")].flatMap((cell) => {
    const r = cell.getBoundingClientRect(), [x, y, X, Y] = [r.left - box.x, r.top - box.y, r.right - box.x, r.bottom - box.y];
    const line = (way) => `<path d="${way}" fill="none" stroke="${getComputedStyle(s.root).color}" stroke-opacity=".5"/>`;
    return [cell.classList.contains("next-matrix") && line(`M${x} ${y}H${X}`), cell.classList.contains("next-head") && line(`M${x} ${y}V${Y}`)].filter(Boolean);
  });
}
