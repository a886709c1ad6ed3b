// Small helpers for elements and for the texts that Python sends.

/** @import { State } from "./types.d.ts" */

export const SVG = "http://www.w3.org/2000/svg";

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {string} [className]
 * @param {Element} [parent]
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, className, parent) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  parent?.append(node);
  return node;
}

/**
 * @param {Element} node
 * @param {string} text
 */
export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * @param {Element} node
 * @param {string} name
 * @param {string | number | boolean} value
 */
export function attr(node, name, value) {
  if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
}

/**
 * @param {Element} parent
 * @param {string} className
 * @param {() => void} act
 */
export function button(parent, className, act) {
  const node = make("button", className, parent);
  node.type = "button";
  node.onclick = act;
  return node;
}

/**
 * @param {State} s
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function say(s, key, values = {}) {
  return (s.data.strings[key] ?? "").replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}
