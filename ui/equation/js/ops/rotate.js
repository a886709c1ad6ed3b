// Pairs of columns turned together by the angles of a row.

import { say } from "../dom.js";
import { value } from "../frames.js";
import { inBrackets, printed } from "../numbers.js";
import { placed } from "../operation.js";
import { pairOf } from "../pairs.js";
import { show } from "../words.js";
/** @import { Frame, Operation, Rule } from "../types.d.ts" */

/**
 * The columns of the result that (i, j) of frame f goes into.
 * @param {Rule} rule
 * @param {Frame} f
 * @param {number} j
 */
function turnedInto(rule, f, j) {
  const source = f.id === rule.in, pair = source ? pairOf(rule, j) : { partner: rule.second[j] };
  const own = source ? j : rule.first[j];
  return (pair ? [own, pair.partner] : [own]).sort((a, b) => a - b);
}

/** @type {Operation} */
export const rotate = {
  turns: true,
  reads: (rule) => [rule.in, rule.cos, rule.sin],
  sources(s, rule, i, j, to) {
    const source = s.frames[rule.in], pair = pairOf(rule, j);
    to.cell(source, i, j);
    if (!pair) return;
    to.cell(source, i, pair.partner);
    to.cell(s.frames[rule.cos], i, pair.p);
    to.cell(s.frames[rule.sin], i, pair.p);
  },
  uses(s, rule, f, i, j, to) {
    for (const column of turnedInto(rule, f, j)) to.cell(s.frames[rule.out], i, column);
  },
  axes(_s, rule, join) {
    for (const id of [rule.in, rule.cos, rule.sin]) join(id + "/r", rule.out + "/r");
    join(rule.in + "/c", rule.out + "/c");
    join(rule.cos + "/c", rule.sin + "/c");
  },
  step(s, rule, i, j) {
    const source = s.frames[rule.in], pair = pairOf(rule, j), own = value(source, i, j);
    if (own === undefined) return { missing: true };
    if (!pair) return { text: `${placed(source, i, j)} (${say(s, "unturned")})`.replace(/ /g, "⁀"), hand: own };
    const other = value(source, i, pair.partner),
      [c, d] = [rule.cos, rule.sin].map((id) => value(s.frames[id], i, pair.p));
    if ([other, c, d].includes(undefined)) return { missing: true };
    const [a, b, cos, sin] = [own, other, c, d].map((v) => show(s, v)), sign = pair.second ? 1 : -1;
    return {
      text: `${inBrackets(a)}×${inBrackets(cos)} ${sign > 0 ? "+" : "−"}⁀${inBrackets(b)}×${inBrackets(sin)}`,
      hand: printed(a) * printed(cos) + sign * printed(b) * printed(sin),
    };
  },
  used: (s, rule, f, i, j) => turnedInto(rule, f, j).map((column) => placed(s.frames[rule.out], i, column)).join(" · "),
};
