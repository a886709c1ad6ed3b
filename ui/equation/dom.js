// Small helpers for elements and for the texts that Python sends.

export const SVG = "http://www.w3.org/2000/svg";
import { value } from "./frames.js";

export function make(tag, className, parent) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  parent?.append(node);
  return node;
}
export function put(node, text) { if (node.textContent !== text) node.textContent = text; }
export function attr(node, name, value) { if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value); }
export function button(parent, className, act) {
  const node = make("button", className, parent);
  node.type = "button";
  node.onclick = act;
  return node;
}
export function say(s, key, values = {}) {
  return (s.data.strings[key] ?? "").replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}
