// Which KV head each query head reads, as a picture above the frames. Pointing at a head lights the line, its partner and
// their rows in the frames; pointing at a cell lights the heads that it belongs to.

import { button, make, say, SVG } from "./dom.js";
/** @import { Head, Related, Place, State } from "./types.d.ts" */

const SIZE = { step: 62, most: 860, width: 46, high: 24, gap: 24 }; // pixels

/** @param {State} s */
export function drawWiring(s) {
  const { reads, notes } = s.data.wiring ?? { reads: [], notes: [] },
    key = [...reads, ...notes, s.data.strings.query_head].join();
  s.wires.hidden = !reads.length;
  if (s.wires.dataset.key === key) return;
  s.wires.dataset.key = key;
  s.wires.replaceChildren();
  s.head = null;
  if (!reads.length) return;
  const count = Math.max(...reads) + 1, group = reads.length / count;
  const step = Math.min(SIZE.step, Math.max(26, Math.min(SIZE.most, s.width || SIZE.most) / reads.length));
  const wide = Math.min(SIZE.width, step - 4), x = (h) => (h + 0.5) * step, middle = (kv) => (kv + 0.5) * group * step;
  const box = make("div", "wiring", s.wires), lines = document.createElementNS(SVG, "svg");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", say(s, "wiring"));
  box.style.cssText = `width:${step * reads.length}px;height:${2 * SIZE.high + SIZE.gap}px`;
  lines.setAttribute("aria-hidden", "true");
  box.append(lines);
  const side = make("div", "wiring-notes", s.wires);
  for (const note of notes) make("div", "", side).textContent = note;
  s.wiring = { q: [], kv: [], lines: [] };
  reads.forEach((kv, h) => {
    const line = document.createElementNS(SVG, "path"),
      top = SIZE.high,
      low = SIZE.high + SIZE.gap,
      half = SIZE.gap / 2;
    line.setAttribute("d", `M${x(h)} ${top}C${x(h)} ${top + half} ${middle(kv)} ${low - half} ${middle(kv)} ${low}`);
    lines.append(line);
    s.wiring.lines.push(line);
    s.wiring.q.push(headButton(s, box, { q: h }, `Q${h + 1}`, say(s, "query_head", { n: h + 1 }), x(h), 0, wide));
  });
  for (let kv = 0; kv < count; kv++) {
    s.wiring.kv.push(
      headButton(
        s,
        box,
        { kv },
        `KV${kv + 1}`,
        say(s, "kv_head", { n: kv + 1 }),
        middle(kv),
        SIZE.high + SIZE.gap,
        Math.max(wide, 34),
      ),
    );
  }
}

/**
 * @param {State} s
 * @param {HTMLElement} box
 * @param {Head} head
 * @param {string} text
 * @param {string} name
 * @param {number} middle
 * @param {number} top
 * @param {number} wide
 */
function headButton(s, box, head, text, name, middle, top, wide) {
  const b = button(box, `head ${"q" in head ? "of-query" : "of-kv"}`, () => hold(s, head));
  b.textContent = text;
  b.setAttribute("aria-label", name);
  b.style.cssText = `left:${middle - wide / 2}px;top:${top}px;width:${wide}px;height:${SIZE.high}px`;
  b.onpointerenter = (e) => {
    if (e.pointerType !== "touch") hold(s, head);
  };
  b.onpointerleave = b.onblur = () => hold(s, null);
  b.onfocus = () => hold(s, head);
  return b;
}

/**
 * @param {State} s
 * @param {Head | null} head
 */
function hold(s, head) {
  s.head = head;
  s.point();
}

/**
 * The heads meant: the query heads and the KV head that belong together.
 * @param {State} s
 * @param {Head} head
 */
function together(s, { q, kv }) {
  const reads = s.data.wiring.reads, shared = kv ?? reads[q];
  return { shared, queries: q === undefined ? reads.flatMap((one, h) => one === shared ? [h] : []) : [q] };
}

/**
 * All cells of the matrices that belong to the head pointed at.
 * @param {State} s
 * @returns {Related}
 */
export function headCells(s) {
  const { shared, queries } = together(s, s.head), found = /** @type {Related["found"]} */ ([]);
  for (const f of s.order) {
    if (f.stack) {
      const n = f.rows.total / f.stack.count, wanted = f.stack.axis === "Hkv" ? [shared] : queries;
      for (const h of wanted) {
        for (let i = Math.max(h * n, f.r0); i < Math.min((h + 1) * n, f.r0 + f.nr); i++) {
          for (let j = f.c0; j < f.c0 + f.nc; j++) found.push([f, i, j]);
        }
      }
    }
  }
  return { backwards: true, found };
}

/**
 * @param {State} s
 * @param {Place} at
 */
export function lightWiring(s, at) {
  if (!s.data.wiring) return;
  const f = at && s.frames[at.id], of = f?.stack && Math.floor(at.i / (f.rows.total / f.stack.count));
  const head = s.head ?? (f?.stack ? (f.stack.axis === "Hkv" ? { kv: of } : { q: of }) : null);
  const { shared, queries } = head ? together(s, head) : { queries: [] };
  s.wiring.q.forEach((b, h) => {
    b.classList.toggle("lit", queries.includes(h));
    s.wiring.lines[h].classList.toggle("lit", queries.includes(h));
  });
  s.wiring.kv.forEach((b, kv) => b.classList.toggle("lit", head !== null && kv === shared));
}

/**
 * The head pointed at, in words for the dock.
 * @param {State} s
 */
export function headInWords(s) {
  const { q, kv } = s.head, { shared } = together(s, s.head);
  const readers = together(s, { kv: shared }).queries.filter((h) => h !== q).map((h) => h + 1).join(", ");
  if (q === undefined) return say(s, "read_by", { kv: kv + 1, readers });
  return say(s, readers ? "reads" : "reads_alone", { n: q + 1, kv: shared + 1, readers });
}

/**
 * The picture for an SVG whose upper left corner stands at `box`; the texts are taken from the page.
 * @param {State} s
 * @param {{ x: number, y: number }} box
 */
export function svgWiring(s, box) {
  if (s.wires.hidden) return [];
  const from = s.wires.querySelector("svg").getBoundingClientRect(), ink = getComputedStyle(s.root).color;
  const lines = s.wiring.lines.map((line) =>
    `<path d="${line.getAttribute("d")}" fill="none" stroke="${ink}" stroke-opacity=".6"/>`
  );
  const frames = [...s.wiring.q, ...s.wiring.kv].map((b) => {
    const r = b.getBoundingClientRect();
    return `<rect x="${r.x - box.x}" y="${
      r.y - box.y
    }" width="${r.width}" height="${r.height}" rx="5" fill="none" stroke="${ink}"/>`;
  });
  return [`<g transform="translate(${from.x - box.x} ${from.y - box.y})">${lines.join("")}</g>`, ...frames];
}
