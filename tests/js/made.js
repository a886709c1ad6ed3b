// An equation as the browser holds it, without a browser: what Python would send, read into a state.

import { takeFrames } from "../../ui/equation/js/model.js";
import { takeEdits } from "../../ui/equation/js/edits.js";
/** @import { Data, State } from "../../ui/equation/js/types.d.ts" */

/** @param {number[]} values */
function base64(values) {
  return btoa(String.fromCharCode(...new Uint8Array(new Float32Array(values).buffer)));
}

/**
 * A frame of these rows; `more` replaces parts of it.
 * @param {string} id
 * @param {number[][]} rows
 * @param {Record<string, unknown>} [more]
 */
export function frame(id, rows, more = {}) {
  const axis = (/** @type {number} */ size) => (
    { axis: "T", letter: "T", word: "", labels: [], offset: 0, size, total: size, full: size, places: null, index: "" }
  );
  return {
    id,
    name: id,
    label: id.toUpperCase(),
    role: "query",
    sign: "",
    slice: "",
    transposed: false,
    rows: axis(rows.length),
    cols: axis(rows[0].length),
    values: base64(rows.flat()),
    editable: true,
    range: [-1, 1],
    hidden: [],
    row_sums: false,
    row_notes: [],
    compact: false,
    whole: false,
    vector: false,
    most_cols: 0,
    stack: null,
    fresh: null,
    filled: null,
    ...more,
  };
}

/**
 * What Python sends for these frames and rules.
 * @param {Record<string, unknown>[]} frames
 * @param {Record<string, unknown>[]} rules
 * @param {Record<string, unknown>} [more]
 */
export function data(frames, rules, more = {}) {
  const plain = {
    rev: 0,
    since: 0,
    seq: 0,
    decimals: 3,
    pin: null,
    edits: {},
    hidden_note: "",
    strings: {},
    switches: [],
    variants: [],
    without: [],
    flipped: 0,
  };
  return /** @type {Data} */ (/** @type {unknown} */ ({ ...plain, frames, rules, wiring: null, ...more }));
}

/**
 * A state that has taken `sent` over; what it sends back is in `said`, the whole of every axis is on screen.
 * @param {Data} sent
 */
export function state(sent) {
  const said = /** @type {[string, unknown][]} */ ([]);
  const s = /** @type {State} */ (/** @type {unknown} */ ({
    pending: [],
    flips: [],
    seq: 0,
    tick: null,
    ranks: {},
    fit: { stack: false, d: 3, px: 16, roomy: true },
    send: (/** @type {string} */ name, /** @type {unknown} */ value) => said.push([name, structuredClone(value)]),
  }));
  take(s, sent);
  return { s, said };
}

/**
 * Takes over what Python sends next.
 * @param {State} s
 * @param {Data} sent
 */
export function take(s, sent) {
  takeFrames(s, sent);
  takeEdits(s);
  for (const g of Object.values(s.groups)) g.count = g.hi - g.lo;
}
