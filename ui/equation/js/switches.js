// Switches: choices of which the variants were sent along. One that is thrown shows its variant in the next frame and
// goes to Python with all those that it has not acknowledged; whatever comes back meanwhile is shown with them thrown.

import { attr, button, make, put } from "./dom.js";
/** @import { Data, Flip, SentFrame, State, SwitchData } from "./types.d.ts" */

/**
 * What Python sent, with some switches thrown; itself where none is. Where that variant was not sent, what is on screen
 * stays until Python answers.
 * @param {Data} sent
 * @param {Flip[]} flips
 * @param {Data} [shown]
 * @returns {Data}
 */
export function thrown(sent, flips, shown = sent) {
  const switches = sent.switches.map((one) => ({
    ...one,
    value: flips.findLast(({ key, code }) => key === one.key && one.options.some((option) => option[0] === code))
      ?.code ?? one.value,
  }));
  if (switches.every((one, k) => one.value === sent.switches[k].value)) return sent;
  const meant = (key, code) => switches.find((one) => one.key === key)?.value === code;
  const found = sent.variants.find(({ codes, without }) =>
    Object.entries(codes).every(([key, code]) => without.includes(key) || meant(key, code))
  );
  if (!found) {
    const { frames, rules, pin, wiring, without } = shown;
    return { ...sent, frames, rules, pin, wiring, without, switches };
  }
  const own = Object.fromEntries(sent.frames.map((frame) => [frame.id, frame]));
  const frames = found.frames.map((one) => typeof one === "string" ? own[one] : one);
  return { ...sent, ...found, frames, switches };
}

/**
 * @param {State} s
 * @param {string} key
 * @param {string} code
 */
export function flip(s, key, code) {
  if (s.data.switches.find((one) => one.key === key)?.value === code) return;
  s.seq += 1;
  s.flips = [...s.flips.filter((one) => one.key !== key), { seq: s.seq, key, code }];
  s.send("switched", { flips: s.flips });
  s.show();
}

/**
 * What Python has not acknowledged yet.
 * @param {State} s
 * @param {Data} sent
 */
export function takeFlips(s, sent) {
  s.flips = s.flips.filter((one) => one.seq > sent.flipped);
  s.seq = Math.max(s.seq, sent.flipped);
}

/** @param {State} s */
export function drawSwitches(s) {
  const shown = s.data.switches.filter((one) => !s.data.without.includes(one.key));
  s.switches.hidden = !shown.length;
  const form = JSON.stringify(shown.map((one) => [one.key, one.options.map((option) => option[0])]));
  if (s.switches.dataset.form !== form) {
    const focused = /** @type {HTMLElement?} */ (s.parent.activeElement)?.dataset?.key;
    s.switches.dataset.form = form;
    s.switches.replaceChildren(...shown.map((one) => isToggle(one) ? makeToggle(s, one) : makeChoice(s, one)));
    if (focused) /** @type {HTMLElement?} */ (s.switches.querySelector(`[data-key="${focused}"]`))?.focus();
  }
  shown.forEach((one, k) => drawSwitch(/** @type {HTMLElement} */ (s.switches.children[k]), one));
}

/** @param {SwitchData} one */
const isToggle = (one) => one.options.length === 2 && one.options[0][0] === "true" && one.options[1][0] === "false";

/**
 * @param {State} s
 * @param {SwitchData} one
 */
function makeToggle(s, one) {
  const node = button(make("div"), "switch", () => flip(s, one.key, node.ariaChecked === "true" ? "false" : "true"));
  node.dataset.key = one.key;
  node.setAttribute("role", "switch");
  make("i", "track", node).append(make("i", "knob"));
  make("span", "", node);
  return node;
}

/**
 * @param {State} s
 * @param {SwitchData} one
 */
function makeChoice(s, one) {
  const group = make("div", "choice");
  group.setAttribute("role", "radiogroup");
  group.dataset.key = one.key;
  if (one.titled) attr(make("span", "title", group), "aria-hidden", true);
  for (const [code] of one.options) {
    const node = button(group, "", () => flip(s, one.key, code));
    node.setAttribute("role", "radio");
    node.dataset.code = code;
  }
  group.onkeydown = (e) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!by) return;
    const all = radios(group), at = all.indexOf(/** @type {any} */ (e.target));
    const next = all[(at + by + all.length) % all.length];
    e.preventDefault();
    e.stopPropagation();
    next.focus();
    next.click();
  };
  return group;
}

/**
 * @param {HTMLElement} group
 * @returns {HTMLElement[]}
 */
const radios = (group) => [...group.querySelectorAll("button")];

/**
 * @param {HTMLElement} node
 * @param {SwitchData} one
 */
function drawSwitch(node, one) {
  if (isToggle(one)) {
    attr(node, "aria-checked", one.value);
    put(node.lastElementChild, one.label);
    return;
  }
  attr(node, "aria-label", one.label);
  if (one.titled) put(node.firstElementChild, one.label);
  radios(node).forEach((radio, k) => {
    const [code, label] = one.options[k];
    put(radio, label);
    attr(radio, "aria-checked", code === one.value);
    radio.tabIndex = code === one.value ? 0 : -1;
  });
}
