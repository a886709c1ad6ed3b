// A thrown switch shows its variant until Python has it, whatever comes back meanwhile.

import { deepStrictEqual } from "node:assert/strict";
import { flip, takeFlips, thrown } from "../../ui/equation/js/switches.js";
import { data, frame, state } from "./made.js";

const q = frame("q", [[1]]), k = frame("k", [[2]]), plain = frame("plain", [[3]]);
const toggle = (/** @type {string} */ key, /** @type {string} */ value) => (
  { key, label: key, options: [["true", key], ["false", key]], value, titled: false }
);
/**
 * @param {string} turned
 * @param {string} scaled
 * @param {Record<string, unknown>} [more]
 */
const sent = (turned, scaled, more) =>
  data(turned === "true" ? [q, k] : [q, plain], [], {
    switches: [toggle("turned", turned), toggle("scaled", scaled)],
    variants: [
      { codes: { turned: "false", scaled: "true" }, without: ["scaled"], frames: ["q", plain], rules: [], pin: null },
      { codes: { turned: "true", scaled: "false" }, without: [], frames: ["q"], rules: [], pin: null },
    ],
    ...more,
  });
/** @param {{frames: {id: string}[]}} shown */
const ids = (shown) => shown.frames.map((one) => one.id);

Deno.test("without a thrown switch it is what was sent", () => {
  const whole = sent("true", "true");
  deepStrictEqual(thrown(whole, []) === whole, true);
});

Deno.test("a thrown switch brings its variant, with the frames that it shares", () => {
  const shown = thrown(sent("true", "true"), [{ seq: 1, key: "scaled", code: "false" }]);
  deepStrictEqual([ids(shown), shown.switches.map((one) => one.value)], [["q"], ["true", "false"]]);
});

Deno.test("what means nothing in a variant does not count", () => {
  const flips = [{ seq: 1, key: "scaled", code: "false" }, { seq: 2, key: "turned", code: "false" }];
  deepStrictEqual(ids(thrown(sent("true", "true"), flips)), ["q", "plain"]);
});

Deno.test("a variant that was not sent leaves the frames, but the switch is thrown", () => {
  const shown = thrown(sent("true", "true", { variants: [] }), [{ seq: 1, key: "scaled", code: "false" }]);
  deepStrictEqual([ids(shown), shown.switches[1].value], [["q", "k"], "false"]);
});

Deno.test("where a variant was not sent, what is on screen stays", () => {
  const before = thrown(sent("true", "true"), [{ seq: 1, key: "scaled", code: "false" }]);
  const late = sent("false", "true", { variants: [], flipped: 0 });
  const flips = [{ seq: 1, key: "scaled", code: "false" }, { seq: 2, key: "turned", code: "true" }];
  deepStrictEqual(ids(thrown(late, flips, before)), ["q"]);
});

Deno.test("a code that a switch does not have, and a switch that is gone, change nothing", () => {
  const whole = sent("true", "true");
  const flips = [{ seq: 1, key: "scaled", code: "x" }, { seq: 2, key: "other", code: "false" }];
  deepStrictEqual(thrown(whole, flips) === whole, true);
});

Deno.test("every message holds what Python has not acknowledged, and an older answer takes nothing back", () => {
  const { s, said } = state(sent("true", "true"));
  let drawn = 0;
  s.show = () => drawn++;
  flip(s, "turned", "false");
  s.data = thrown(sent("true", "true"), s.flips);
  flip(s, "turned", "false"); // it is that already
  flip(s, "scaled", "false");
  const keys = (/** @type {any} */ message) => message.flips.map((/** @type {{key: string}} */ one) => one.key);
  deepStrictEqual(said.map(([name, message]) => [name, keys(message)]), [
    ["switched", ["turned"]],
    ["switched", ["turned", "scaled"]],
  ]);
  deepStrictEqual(drawn, 2);
  takeFlips(s, sent("false", "true", { flipped: 1 }));
  deepStrictEqual(s.flips.map((one) => one.key), ["scaled"]);
});
