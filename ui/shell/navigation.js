// Alt+PageUp and Alt+PageDown follow the header's links to the previous and the next page. In the presenter's view
// PageUp and PageDown alone do so too: these are the keys that a hand-held presenter sends. The long menu shows where
// one is.
const KEYS = { PageUp: (text) => text.startsWith("‹"), PageDown: (text) => text.endsWith("›") };
// Where these keys have a meaning of their own.
const BUSY =
  "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], [role=slider], [role=listbox], [role=dialog] *";

const TYPED = "input:not([type=checkbox], [type=radio]), textarea, [contenteditable]";

function linkOf(key) {
  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".st-key-page-header a"));
  return [...links].find((link) => KEYS[key](link.textContent.trim()));
}

// Ctrl+Z and Ctrl+Shift+Z (or Ctrl+Y) press the buttons that undo and redo; in a field they are the field's own.
function onUndo(event) {
  const { key, altKey, ctrlKey, metaKey, shiftKey, defaultPrevented } = event;
  if (!(ctrlKey || metaKey) || altKey || defaultPrevented || event.composedPath()[0].matches?.(TYPED)) return;
  const name = { z: shiftKey ? "redo" : "undo", y: "redo" }[key.toLowerCase()];
  const button = /** @type {HTMLButtonElement?} */ (name && document.querySelector(`.st-key-${name} button`));
  if (!button) return;
  event.preventDefault();
  button.click();
}

function onKey(event) {
  const { key, altKey, ctrlKey, metaKey, shiftKey, repeat, defaultPrevented } = event;
  if (!Object.hasOwn(KEYS, key) || ctrlKey || metaKey || shiftKey || repeat || defaultPrevented) return;
  if (!altKey && !/** @type {HTMLInputElement} */ (document.querySelector(".st-key-presenter input"))?.checked) return;
  const link = linkOf(key);
  if (!link || event.composedPath()[0].matches?.(BUSY)) return;
  event.preventDefault();
  link.click();
}

// Streamlit makes an entry of the browser's history of every change of the address. Two kinds change the present entry
// instead, and what it takes out of the address just before it follows a link changes nothing. What the app writes right after a link was followed, to an address without a language, belongs to the entry
// of that link: one Back then leads away. And the steps of a run are too many to be walked back through.
const STEPS = ["made", "at"];

function withoutSteps(address) {
  const url = new URL(address, location.href);
  for (const key of STEPS) url.searchParams.delete(key);
  url.searchParams.sort();
  return url.href;
}

function keepHistoryShort() {
  if (Object.hasOwn(history, "pushState")) return;
  history.pushState = (state, title, url) => {
    const to = new URL(url, location.href), samePage = to.pathname === location.pathname;
    const hadLanguage = new URLSearchParams(location.search).has("lang");
    if (samePage && hadLanguage && !to.searchParams.has("lang")) return;
    const followed = samePage && !hadLanguage;
    const joins = followed || withoutSteps(url) === withoutSteps(location.href);
    History.prototype[joins ? "replaceState" : "pushState"].call(history, state, title, url);
  };
}

// A plain click on a stage's name is one on the menu's link to that page, which keeps the session; any other opens the
// link itself, which then holds what the address holds.
function linkTo(slug) {
  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(
    "[data-testid=stSidebarNavLink], [data-testid=stPageLink] a",
  ));
  return [...links].find((link) => new URL(link.href, location.href).pathname.split("/").at(-1) === slug);
}

/** @param {Event} event */
function stageOf(event) {
  return /** @type {HTMLAnchorElement?} */ (/** @type {Element} */ (event.target).closest?.(".stages a"));
}

function onStage(event) {
  const link = stageOf(event), { altKey, ctrlKey, metaKey, shiftKey } = event;
  if (!link) return;
  const own = linkTo(new URL(link.href).pathname.split("/").at(-1));
  if (!own || altKey || ctrlKey || metaKey || shiftKey) return;
  event.preventDefault();
  own.click();
}

function onReach(event) {
  const link = stageOf(event);
  if (link) link.search = location.search;
}

const REACHES = ["pointerover", "focusin"];

// On a line that is too long for the screen the lit stage is in view.
let lit;

function showStage() {
  const now = /** @type {HTMLElement?} */ (document.querySelector(".stages [aria-current=page]"));
  if (!now || now === lit) return;
  lit = now;
  const line = now.closest("ol");
  line.scrollLeft = now.offsetLeft - line.offsetLeft - (line.clientWidth - now.offsetWidth) / 2;
}

// A formula or a table that is too wide for its place scrolls there, and not every browser lets keys reach such a place.
const WIDE = "[class*=st-key-formula] .stMarkdown, [data-testid=stMarkdownContainer] table";
const SOON = 200;
let waiting;

function reachSoon() {
  showStage();
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(WIDE))) {
      const scrolls = place.scrollWidth > place.clientWidth;
      if (scrolls === place.hasAttribute("tabindex")) continue;
      if (scrolls) place.tabIndex = 0;
      else place.removeAttribute("tabindex");
    }
  }, SOON);
}

const changes = new MutationObserver(reachSoon);

export default function ({ data }) {
  // A link at the foot of a page leads to the head of the next.
  const before = globalThis.workbenchPage;
  if (before !== undefined && before !== data.slug) document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  globalThis.workbenchPage = data.slug;
  keepHistoryShort();
  document.addEventListener("keydown", onKey); // the same function: added once, however often this runs
  document.addEventListener("keydown", onUndo);
  document.addEventListener("click", onStage);
  for (const kind of REACHES) document.addEventListener(kind, onReach);
  document.querySelector("[data-testid=stSidebarNavLink][aria-current=page]")?.scrollIntoView({ block: "nearest" });
  for (const key of Object.keys(KEYS)) linkOf(key)?.setAttribute("aria-keyshortcuts", `Alt+${key}`);
  changes.observe(document.body, { childList: true, subtree: true });
  globalThis.addEventListener("resize", reachSoon);
  reachSoon();
  return () => {
    document.removeEventListener("keydown", onKey);
    document.removeEventListener("keydown", onUndo);
    document.removeEventListener("click", onStage);
    for (const kind of REACHES) document.removeEventListener(kind, onReach);
    globalThis.removeEventListener("resize", reachSoon);
    changes.disconnect();
  };
}
