// The arithmetic of a cell in digits, and what the dock adds to it.

import { say } from "./dom.js";
import { isEdited, isFresh, isUnwritten, makerOf, rowSum, value } from "./frames.js";
import { cells, fullValue, printed, readable } from "./numbers.js";
import { operationOf } from "./operations.js";
import { isBlank } from "./ticks.js";
import { byHand, labelsAt, placeName, show, token } from "./words.js";
/** @import { Frame, State } from "./types.d.ts" */

/**
 * The steps from the last product on: 0×2 + 1×1 = 1, then 1 ÷ 1.414 = 0.707.
 * @param {State} s
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
function chain(s, f, i, j) {
  const rule = makerOf(s, f, i, j);
  if (!rule) return [];
  const before = operationOf(rule).continues?.(rule), maker = before && s.maker[before];
  const inner = maker && !operationOf(maker).complete ? chain(s, s.frames[before], i, j) : [];
  const v = value(f, i, j), result = show(s, v);
  const own = Number.isNaN(v) ? { text: "?", hand: NaN } : operationOf(rule).step(s, rule, i, j);
  const text = own.missing || own.text === "?" ? result : `${own.text} =⁀${result}`;
  const rounded = Number.isFinite(own.hand) && Number.isFinite(v) && byHand(s, own.hand) !== printed(result);
  return [...inner, { text, rounded, missing: own.missing, note: own.note }];
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function arithmetic(s, f, i, j) {
  const name = placeName(f, i, j), v = value(f, i, j), notes = [];
  if (isUnwritten(f, i, j)) return { main: name, notes: [say(s, "unwritten")] };
  if (isBlank(s, f, i, j)) return { main: name, notes: [say(s, "blank")] };
  if (Number.isNaN(v)) return { main: `${name} =⁀?`, notes: [s.data.hidden_note].filter(Boolean) };
  const steps = chain(s, f, i, j), at = labelsAt(f, i, j), named = at.a !== undefined && at.b !== undefined;
  let main = `${name} =⁀${steps.length ? steps[0].text : f.whole ? v : show(s, v)}`;
  if (steps.length > 1) {
    const asks = ["score", "weight", "mask"].includes(f.role) && f.rows.axis === "T" && f.cols.axis === "T";
    const who = asks
      ? say(s, named ? "asks_named" : "asks", { ...at, a: token(at.a ?? ""), b: token(at.b ?? "") }) + ": "
      : "";
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

/**
 * @param {State} s
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
function usesOf(s, f, i, j) {
  const users = s.users[f.id] ?? [],
    uses = users.map((rule) => operationOf(rule).used(s, rule, f, i, j)).filter(Boolean);
  if (uses.length) return [say(s, "feeds", { cells: uses.join(" · ") })];
  return users.map((rule) => operationOf(rule).unused).filter(Boolean).slice(0, 1).map((key) => say(s, key));
}

/**
 * @param {State} s
 * @param {Frame} f
 * @param {number} i
 */
function rowNote(s, f, i) {
  const row = cells(f.nc).map((c) => value(f, i, c + f.c0));
  if (row.some(Number.isNaN)) return [];
  const sum = show(s, rowSum(f, i)), hand = row.reduce((t, v) => t + printed(show(s, v)), 0);
  return byHand(s, hand) === printed(sum) ? [] : [say(s, "row_rounded", { hand: show(s, byHand(s, hand)), sum })];
}
