// Alt+PageUp and Alt+PageDown follow the header's links to the previous and the next page. In the presenter's view
// PageUp and PageDown alone do so too: these are the keys that a hand-held presenter sends. The long menu shows where
// one is.
const KEYS = { PageUp: (text) => text.startsWith("‹"), PageDown: (text) => text.endsWith("›") };
// Where these keys have a meaning of their own.
const BUSY = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], [role=slider], [role=listbox], [role=dialog] *";

function linkOf(key) {
  return [...document.querySelectorAll(".st-key-page-header a")].find((link) => KEYS[key](link.textContent.trim()));
}

function onKey(event) {
  const { key, altKey, ctrlKey, metaKey, shiftKey, repeat, defaultPrevented } = event;
  if (!Object.hasOwn(KEYS, key) || ctrlKey || metaKey || shiftKey || repeat || defaultPrevented) return;
  if (!altKey && !document.querySelector(".st-key-presenter input")?.checked) return;
  const link = linkOf(key);
  if (!link || event.composedPath()[0].matches?.(BUSY)) return;
  event.preventDefault();
  link.click();
}

export default function () {
  document.addEventListener("keydown", onKey);            // the same function: added once, however often this runs
  document.querySelector("[data-testid=stSidebarNavLink][aria-current=page]")?.scrollIntoView({ block: "nearest" });
  for (const key of Object.keys(KEYS)) linkOf(key)?.setAttribute("aria-keyshortcuts", `Alt+${key}`);
  return () => document.removeEventListener("keydown", onKey);
}
