// What operations share: cell by cell, row by row, and numbers taken over from another place.

import { say } from "./dom.js";
import { colOf, rowOf, value } from "./frames.js";
import { cells, inBrackets, printed } from "./numbers.js";
import { angleText } from "./pairs.js";
import { show } from "./words.js";
/** @import { Frame, Operation, Rule, State, Step } from "./types.d.ts" */

/**
 * The place of a cell counted from 1, under the symbol of its frame.
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
export function placed(f, i, j) {
  return `${f.label}[${i + 1},${j + 1}]`;
}

/**
 * A number taken over from another place of frame f.
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 * @param {number} hand
 * @param {string} [note]
 * @returns {Step}
 */
export function taken(f, i, j, hand, note) {
  return { text: placed(f, i, j), hand, note };
}

/**
 * Axes of an operand run together with those of the result, but where it has only one row or column for all of them.
 * @param {State} s
 * @param {Rule} rule
 * @param {string[]} ids
 * @param {(a: string, b: string) => void} join
 */
export function joinCellwise(s, rule, ids, join) {
  const out = s.frames[rule.out];
  for (const id of ids) {
    const f = s.frames[id];
    if (f.cols.total === out.cols.total) join(id + "/c", rule.out + "/c");
    if (f.rows.total !== 1 || out.rows.total === 1) join(id + "/r", rule.out + "/r");
  }
}

/**
 * An operation on left and right, cell by cell; a `right` of one row serves every row, of one column every column.
 * @param {string} sign
 * @param {(a: number, b: number) => number} hand
 * @returns {Operation}
 */
export function cellwise(sign, hand) {
  return {
    reads: (rule) => [rule.left, rule.right],
    sources(s, rule, i, j, to) {
      const right = s.frames[rule.right];
      to.cell(s.frames[rule.left], i, j);
      to.cell(right, rowOf(right, i), colOf(right, j));
    },
    uses(s, rule, f, i, j, to) {
      const out = s.frames[rule.out], serves = rule.right === f.id;
      if (serves && f.rows.total === 1 && out.rows.total !== 1) to.column(out, j);
      else if (serves && f.cols.total === 1) to.row(out, i);
      else to.cell(out, i, j);
    },
    axes: (s, rule, join) => joinCellwise(s, rule, [rule.left, rule.right], join),
    step(s, rule, i, j) {
      const right = s.frames[rule.right];
      return divided(s, value(s.frames[rule.left], i, j), value(right, rowOf(right, i), colOf(right, j)), sign, hand);
    },
    used(s, rule, f, i, j) {
      const out = s.frames[rule.out];
      if (rule.right === f.id && f.rows.total === 1) return say(s, "col_of", { symbol: out.label, j: j - f.cs + 1 });
      return placed(out, i, j);
    },
  };
}

/**
 * Two numbers with a sign between them, or a missing part.
 * @param {State} s
 * @param {number} a
 * @param {number} b
 * @param {string} sign
 * @param {(a: number, b: number) => number} hand
 * @returns {Step}
 */
export function divided(s, a, b, sign, hand) {
  if (a === undefined || b === undefined) return { missing: true };
  const x = show(s, a), y = show(s, b);
  return { text: `${x}⁀${sign}⁀${inBrackets(y)}`, hand: hand(printed(x), printed(y)) };
}

/**
 * A row brought down to one number; `write` and `hand` take the printed numbers of the row.
 * @param {(s: State, texts: string[]) => string} write
 * @param {(row: number[]) => number} hand
 * @returns {Operation}
 */
export function reduction(write, hand) {
  return {
    reads: (rule) => [rule.in],
    sources: (s, rule, i, _j, to) => to.row(s.frames[rule.in], i),
    uses: (s, rule, _f, i, _j, to) => to.cell(s.frames[rule.out], i, 0),
    axes: (s, rule, join) => joinCellwise(s, rule, [rule.in], join),
    step(s, rule, i) {
      const row = wholeRow(s.frames[rule.in], i);
      if (!row) return { missing: true };
      if (row.some(Number.isNaN)) return { text: "?", hand: NaN };
      const texts = row.map((v) => show(s, v));
      return { text: write(s, texts), hand: hand(texts.map(printed)) };
    },
    used: (s, rule, _f, i) => placed(s.frames[rule.out], i, 0),
  };
}

/**
 * The numbers of a row, undefined where a part of it was not sent.
 * @param {Frame} f
 * @param {number} i
 */
export function wholeRow(f, i) {
  return f.nc < f.cols.total ? undefined : cells(f.nc).map((c) => value(f, i, c + f.c0));
}

/**
 * A number made from a position and a θ alone.
 * @param {string} name
 * @param {(angle: number) => number} ratio
 * @returns {Operation}
 */
export function ofAngle(name, ratio) {
  return {
    given: true,
    reads: () => [],
    sources() {},
    uses() {},
    axes() {},
    step(s, rule, i, j) {
      const position = rule.positions[i - s.frames[rule.out].r0], at = angleText(s, position);
      const theta = angleText(s, rule.theta[j]), angle = angleText(s, position * rule.theta[j]);
      return { text: `${name}(${at}⁀×⁀${theta}) =⁀${name}(${angle})`, hand: ratio(printed(angle)) };
    },
    used: () => "",
  };
}
