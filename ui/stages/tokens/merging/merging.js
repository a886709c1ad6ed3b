// The tokens of a text as chips, and under them the merges of one part as a ladder: a row for each step.

import { button, make, put } from "../../../equation/js/dom.js";
import { escaped, save, svgColour, svgFile, svgFont } from "../../../equation/js/svg.js";

function say(s, key, values = {}) {
  return s.data.strings[key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

// ---- the rows of the ladder: the symbols after each merge, each as { a, b, label, hex } over the bytes of the part ----

function ladder(part) {
  const first = part.symbols.map(([label, hex], k) => ({ a: k, b: k + 1, label, hex }));
  const rows = [{ symbols: first }];
  for (const [rank, start, label, hex] of part.merges) {
    const before = rows[rows.length - 1].symbols, k = before.findIndex((symbol) => symbol.a === start);
    const [left, right] = [before[k], before[k + 1]];
    const made = { a: left.a, b: right.b, label, hex, made: true };
    const rest = before.map((symbol) => ({ ...symbol, made: false }));
    rows.push({ rank, left, right, symbols: [...rest.slice(0, k), made, ...rest.slice(k + 2)] });
  }
  return rows;
}

// ---- drawing ----

function mount(parentElement) {
  const root = parentElement.querySelector(".merging"),
    s = { root, parent: parentElement, tick: null, hover: null, focus: 0 };
  root.replaceChildren();
  s.chips = make("div", "chips", root);
  s.chips.setAttribute("role", "grid");
  s.more = make("div", "more", root);
  s.box = make("div", "ladder-box", root);
  s.ladder = make("div", "ladder", s.box);
  s.ladder.setAttribute("role", "grid");
  const dock = make("div", "dock", root), text = make("div", "dock-text", dock);
  text.setAttribute("role", "status");
  s.dock = {
    text,
    main: make("div", "main", text),
    notes: make("div", "notes", text),
    unpin: button(dock, "quiet", () => pin(s, null)),
  };
  const bar = make("div", "bar", root);
  s.steps = make("div", "steps", bar);
  s.steps.setAttribute("role", "group");
  const acts = { back: () => step(s, -1), play: () => play(s), next: () => step(s, 1), skip: () => show(s, null) };
  s.controls = Object.fromEntries(Object.entries(acts).map(([name, act]) => [name, button(s.steps, "quiet", act)]));
  const files = make("div", "steps", bar);
  s.svg = button(files, "quiet", () => saveSvg(s));
  s.csv = button(files, "quiet", () => saveCsv(s));
  listen(s);
  return s;
}

function listen(s) {
  const at = (e) => e.target.closest?.("[data-at]")?.dataset.at;
  s.root.onpointerover = (e) => {
    if (e.pointerType !== "touch" && at(e) !== s.hover) {
      s.hover = at(e) ?? null;
      point(s);
    }
  };
  s.root.onpointerleave = () => {
    s.hover = null;
    point(s);
  };
  s.root.onclick = (e) => {
    const [kind, part, number] = (at(e) ?? "").split(",");
    if (kind === "chip") pin(s, [Number(part), s.data.parts[part].merges.length]);
    if (kind === "symbol") pin(s, [s.place[0], Number(part)]);
    if (kind) focusOn(s, [kind, part, number].join());
  };
  s.root.addEventListener("focusin", (e) => {
    s.hover = at(e) ?? s.hover;
    point(s);
  });
  s.root.onkeydown = (e) => {
    if (e.key === "Escape") return pin(s, null);
    const here = at(e);
    if (!here) return;
    if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      e.target.click();
      return;
    }
    const to = neighbour(s, here, e.key);
    if (to) {
      e.preventDefault();
      focusOn(s, to);
    }
  };
}
// Left and right along a row, up and down between the rows of the ladder.
function neighbour(s, here, key) {
  const nodes = [...s.root.querySelectorAll("[data-at]")], at = nodes.findIndex((node) => node.dataset.at === here);
  const row = nodes[at].closest("[role=row]"),
    inRow = nodes.filter((node) => node.closest("[role=row]") === row),
    k = inRow.indexOf(nodes[at]);
  const side = { ArrowLeft: inRow[k - 1], ArrowRight: inRow[k + 1], Home: inRow[0], End: inRow.at(-1) };
  if (key in side) return side[key]?.dataset.at;
  const rows = [...new Set(nodes.map((node) => node.closest("[role=row]")))],
    other = { ArrowUp: rows[rows.indexOf(row) - 1], ArrowDown: rows[rows.indexOf(row) + 1] }[key];
  const below = other && [...other.querySelectorAll("[data-at]")];
  return below?.[Math.min(k, below.length - 1)]?.dataset.at;
}
function focusOn(s, at) {
  const node = s.root.querySelector(`[data-at="${at}"]`);
  if (!node) return false;
  for (const other of node.closest("[role=grid]").querySelectorAll("[data-at]")) {
    other.tabIndex = other === node ? 0 : -1;
  }
  node.focus({ preventScroll: true });
  return true;
}

function drawChips(s) {
  const key = JSON.stringify([s.data.parts, s.data.unknowns]);
  s.chips.setAttribute("aria-label", say(s, "tokens"));
  put(s.more, s.data.cut ? say(s, "more", { count: s.data.parts.length }) : "");
  if (s.chipsKey === key) return;
  s.chipsKey = key;
  let token = 0;
  const row = make("div", "line");
  row.setAttribute("role", "row");
  s.data.parts.forEach((part, p) => {
    const group = make("span", "part", row);
    group.setAttribute("role", "presentation");
    const torn = !s.data.unknowns && part.pieces.some((piece) => !piece[5]);
    if (torn) make("bdi", "source", group).textContent = part.text; // characters that their tokens cannot show
    const tokens = make("span", "tokens", group);
    tokens.setAttribute("role", "presentation");
    const list = part.asked ? [["?", part.text, "", 0, 0, true]] : part.pieces;
    list.forEach(([id, label, , , , whole], k) => {
      const chip = make("span", `chip tint${token++ % 2}${whole ? "" : " torn"}`, tokens);
      chip.dataset.at = `chip,${p},${k}`;
      chip.setAttribute("role", "gridcell");
      chip.setAttribute(
        "aria-label",
        part.asked ? say(s, "asked", { text: label }) : say(s, "token", { text: label, id }),
      );
      chip.tabIndex = p + k ? -1 : 0;
      make("bdi", "label", chip).textContent = label;
      make("span", "id", chip).textContent = id;
    });
  });
  s.chips.replaceChildren(row);
}

const MOST_ROWS = 40;
function drawLadder(s) {
  const part = s.place && s.data.parts[s.place[0]], focused = s.ladder.querySelector(":focus")?.dataset.at;
  s.rows = part?.symbols.length ? ladder(part) : [];
  s.ladder.setAttribute("aria-label", say(s, "merges"));
  s.ladder.replaceChildren();
  const now = s.tick ?? s.rows.length - 1, first = Math.max(0, now - MOST_ROWS + 1);
  s.rows.slice(0, now + 1).forEach((row, n) => {
    if (n && n < first) return;
    const line = make("div", "rung", s.ladder);
    line.setAttribute("role", "row");
    const head = make("span", "head", line);
    head.setAttribute("role", "rowheader");
    head.textContent = n ? `${say(s, "step", { n })} · ${say(s, "rank", { rank: row.rank })}` : say(s, "start");
    row.symbols.forEach((symbol, k) => {
      const cell = make("span", `symbol${symbol.made ? " made" : ""}`, line);
      cell.dataset.at = `symbol,${n},${k}`;
      cell.setAttribute("role", "gridcell");
      cell.tabIndex = n + k ? -1 : 0;
      cell.setAttribute("aria-label", `${symbol.label}, ${say(s, "bytes", { hex: symbol.hex })}`);
      make("bdi", "label", cell).textContent = symbol.label;
    });
  });
  if (focused && !focusOn(s, focused)) s.chips.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
}

// ---- pointing: a symbol lights what it was made from and what it becomes ----

function spanOf(s, at) {
  const [kind, first, second] = at.split(",");
  if (kind === "symbol") {
    const symbol = s.rows[first]?.symbols[second];
    return symbol && { part: s.place[0], row: Number(first), a: symbol.a, b: symbol.b };
  }
  const pieces = s.data.parts[first]?.pieces ?? [];
  const sizes = pieces.map((piece) => piece[2] ? piece[2].split(" ").length : 0),
    a = sizes.slice(0, second).reduce((n, size) => n + size, 0);
  return { part: Number(first), row: Infinity, piece: Number(second), a, b: a + (sizes[second] ?? 0) };
}
function point(s) {
  const at = s.hover ?? restAt(s), own = at && spanOf(s, at);
  for (const node of s.root.querySelectorAll("[data-at]")) {
    const span = own && spanOf(s, node.dataset.at), same = span && span.part === own.part;
    const inside = same && own.b > own.a && span.a < own.b && span.b > own.a;
    node.classList.toggle("on", node.dataset.at === at);
    node.classList.toggle("lit", Boolean(inside && node.dataset.at !== at && span.row < own.row));
    node.classList.toggle("feeds", Boolean(inside && node.dataset.at !== at && span.row > own.row));
  }
  for (const node of s.chips.querySelectorAll(".part")) {
    node.classList.toggle("chosen", s.place && node === s.chips.querySelectorAll(".part")[s.place[0]]);
  }
  drawDock(s, at, own);
}
// What the dock tells of while nothing is pointed at: the step, or the last one.
function restAt(s) {
  if (!s.place) return null;
  const row = s.rows[s.tick ?? s.place[1]] ?? s.rows.at(-1);
  if (!row) return `chip,${s.place[0]},0`;
  const made = row.symbols.findIndex((symbol) => symbol.made);
  return `symbol,${s.rows.indexOf(row)},${Math.max(made, 0)}`;
}

function drawDock(s, at, own) {
  const d = s.dock, notes = [];
  let main = "";
  if (own && at.startsWith("chip")) {
    const part = s.data.parts[own.part], [id, text, hex, a, b, whole] = part.pieces[own.piece] ?? [];
    main = part.asked ? say(s, "asked", { text: part.text }) : say(s, "token", { text, id });
    if (!part.asked) notes.push(say(s, "covers", { a: a + 1, b }), say(s, "bytes", { hex }));
    if (!part.asked && !whole) notes.push(say(s, s.data.unknowns ? "unknown" : "split"));
  } else if (own) {
    const row = s.rows[own.row], symbol = row.symbols.find((other) => other.a === own.a);
    main = symbol.made
      ? say(s, "merge", { a: row.left.label, b: row.right.label, c: symbol.label, rank: row.rank })
      : `“${symbol.label}”`;
    if (symbol.made) notes.push(say(s, "why"));
    notes.push(say(s, "bytes", { hex: symbol.hex }));
    if (own.row === s.rows.length - 1) notes.push(say(s, "end"));
  } else notes.push(say(s, "idle"));
  put(d.main, main);
  put(d.notes, notes.join("  ·  "));
  d.text.setAttribute("aria-label", say(s, "dock"));
  d.unpin.hidden = !s.place;
  put(d.unpin, `${say(s, "pinned")} ✕`);
  d.unpin.setAttribute("aria-label", say(s, "unpin"));
}

// ---- pinning and stepping ----

function pin(s, place) {
  stop(s);
  s.place = place;
  s.tick = null;
  s.hover = null;
  s.send("place", place);
  draw(s);
}
function show(s, tick) {
  s.tick = tick === null || tick >= s.rows.length - 1 ? null : Math.max(0, tick);
  if (s.tick === null) stop(s);
  s.hover = null;
  draw(s);
}
function step(s, by) {
  stop(s);
  show(s, s.tick === null ? (by > 0 ? 0 : s.rows.length - 2) : s.tick + by);
}
function stop(s) {
  clearTimeout(s.timer);
  s.timer = 0;
}
function play(s) {
  if (s.timer) {
    stop(s);
    draw(s);
    return;
  }
  const quick = matchMedia("(prefers-reduced-motion: reduce)").matches;
  show(s, s.tick === null ? 0 : s.tick + 1);
  const on = () => {
    s.timer = 0;
    show(s, s.tick + 1);
    if (s.tick !== null) s.timer = setTimeout(on, 1200);
    draw(s);
  };
  if (s.tick !== null && !quick) s.timer = setTimeout(on, 1200);
  draw(s);
}
function drawControls(s) {
  const glyph = { back: "◁", play: s.timer ? "❚❚" : "▶", next: "▷", skip: "▷▷" };
  s.steps.hidden = s.rows.length < 2;
  s.steps.setAttribute("aria-label", say(s, "steps"));
  for (const name in glyph) {
    put(s.controls[name], `${glyph[name]} ${say(s, name === "play" && s.timer ? "pause" : name)}`);
  }
  s.controls.back.disabled = s.tick === 0;
  s.controls.skip.disabled = s.tick === null;
  put(s.svg, "SVG");
  s.svg.setAttribute("aria-label", say(s, "svg"));
  put(s.csv, `CSV ${say(s, "tokens")}`);
  s.csv.setAttribute("aria-label", say(s, "csv"));
}
function saveCsv(s) {
  const quoted = (text) => `"${String(text).replaceAll('"', '""')}"`;
  const lines = s.data.parts.flatMap((part) =>
    part.pieces.map(([id, label, hex, a, b]) => [id, quoted(label), quoted(hex), a, b].join())
  );
  save("tokens.csv", "text/csv", ["id,piece,bytes,start,end", ...lines].join("\n") + "\n");
}
// The tokens and all rungs of the ladder that are drawn, those out of sight too.
function saveSvg(s) {
  const scrolled = [s.box.scrollLeft, s.box.scrollTop];
  s.box.scrollTo(0, 0);
  const top = s.chips.getBoundingClientRect(),
    low = s.ladder.getBoundingClientRect(),
    parts = [],
    range = document.createRange();
  const box = { x: top.x, y: top.y, width: Math.max(top.width, s.ladder.scrollWidth), height: low.bottom - top.y };
  const at = (x, y) => `x="${(x - box.x).toFixed(1)}" y="${(y - box.y).toFixed(1)}"`;
  for (const node of s.root.querySelectorAll(".chip, .symbol")) {
    const r = node.getBoundingClientRect(),
      style = getComputedStyle(node),
      size = `width="${r.width.toFixed(1)}" height="${r.height.toFixed(1)}" rx="4"`;
    const edge = parseFloat(style.borderTopWidth) ? svgColour(style.borderTopColor, "stroke") : "";
    parts.push(`<rect ${at(r.x, r.y)} ${size} ${svgColour(style.backgroundColor)} ${edge}/>`);
    if (node.classList.contains("torn")) parts.push(`<rect ${at(r.x, r.y)} ${size} fill="url(#hatch)"/>`);
  }
  for (const node of s.root.querySelectorAll(".chips .label, .chips .id, .source, .ladder .label, .ladder .head")) {
    range.selectNodeContents(node);
    const r = range.getBoundingClientRect(),
      length = `textLength="${r.width.toFixed(1)}" lengthAdjust="spacingAndGlyphs"`;
    if (r.width) {
      parts.push(
        `<text ${at(r.x, r.y + r.height * 0.77)} ${length} ${svgFont(getComputedStyle(node))}>${
          escaped(node.textContent)
        }</text>`,
      );
    }
  }
  s.box.scrollTo(...scrolled);
  save("tokens.svg", "image/svg+xml", svgFile(s.root, box, parts));
}

// Scrolls the ladder, and nothing else, to the symbol that the dock tells of and what it was made from, once a step.
function reveal(s) {
  const key = JSON.stringify([s.place, s.tick, s.rows.at(-1)]), node = s.ladder.querySelector(".on");
  if (!node || s.revealed === key) return;
  s.revealed = key;
  const own = node.getBoundingClientRect(),
    box = s.box.getBoundingClientRect(),
    head = node.parentNode.firstChild.offsetWidth;
  const right = Math.max(
    ...[...s.ladder.querySelectorAll(".on, .lit")].map((lit) => lit.getBoundingClientRect().right),
  );
  s.box.scrollLeft += Math.min(Math.max(0, right - box.left - s.box.clientWidth), own.left - box.left - head);
  s.box.scrollTop += Math.max(0, own.bottom - box.top - s.box.clientHeight) - Math.max(0, box.top - own.top);
}

function draw(s) {
  drawChips(s);
  drawLadder(s);
  point(s);
  reveal(s);
  drawControls(s);
}

const STATES = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  let s = STATES.get(parentElement);
  if (!s) STATES.set(parentElement, s = mount(parentElement));
  s.send = setStateValue;
  const place = JSON.stringify(data.place);
  s.data = data;
  if (place !== s.sentPlace || !s.place || s.place[0] >= data.parts.length) {
    s.place = data.place;
    s.tick = null;
    stop(s);
  }
  s.sentPlace = place;
  const [r, g, b] = getComputedStyle(s.root).color.match(/[\d.]+/g).map(Number);
  s.root.classList.toggle("dark", 0.2126 * r + 0.7152 * g + 0.0722 * b > 128);
  draw(s);
  return () => {
    stop(s);
    STATES.delete(parentElement);
  };
}
