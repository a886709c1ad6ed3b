// Pointer and keys: pointing, pinning, dragging a window along, moving the focus.

import { place } from "./cells.js";
import { drawEquation } from "./draw.js";
import { setEdit, startEdit } from "./editor.js";
import { characterWidth } from "./fit.js";
import { has, isEdited } from "./frames.js";
import { pinKey, setPin } from "./pins.js";
import { placeOf, point, reach } from "./point.js";
import { bringBoth, canPan, pan } from "./windows.js";
/** @import { CellElement, Frame, Group, State } from "./types.d.ts" */

/** @param {Event} e */
function elementOf(e) {
  return /** @type {Element} */ (e.target);
}

/** @param {Event} e */
function cellOf(e) {
  return /** @type {CellElement} */ (elementOf(e)?.closest?.(".cell"));
}

/** @param {State} s */
export function listen(s) {
  listenToPointer(s);
  listenToClicks(s);
  listenToKeys(s);
  listenToPage(s);
}

/**
 * @param {State} s
 * @param {PointerEvent | WheelEvent} e
 */
function hover(s, e) {
  const at = !("pointerType" in e && e.pointerType === "touch") && placeOf(s, e);
  if (
    !at || (s.hover && at.id === s.hover.id && at.i === s.hover.i && at.j === s.hover.j && s.hover.pair === undefined)
  ) return;
  s.hover = at;
  point(s);
}

/** @param {State} s */
function listenToPointer(s) {
  s.eq.onpointerover = (e) => hover(s, e);
  s.eq.onpointermove = (e) => {
    if (s.drag) drag(s, e);
    else if (elementOf(e).closest(".map")) hover(s, e);
  };
  s.eq.onpointerleave = () => {
    if (s.hover) {
      s.hover = null;
      point(s);
    }
  };
  s.eq.onpointerdown = (e) => {
    const at = e.button ? null : placeOf(s, e);
    s.pressed = s.fit.cell ? at : null; // a click's own place is rounded to pixels, too far on a map
    s.drag = at && !s.editor && canPan(s.frames[at.id]) ? grip(s, at.id, e) : null;
    s.dragged = false;
  };
  s.eq.onpointerup = s.eq.onpointercancel = () => {
    s.drag = null;
  };
  s.eq.addEventListener("wheel", (e) => wheel(s, e), { passive: false });
}

/** @param {State} s */
function listenToClicks(s) {
  s.eq.onclick = (e) => {
    const at = !s.dragged && (s.pressed ?? placeOf(s, e));
    s.pressed = null;
    if (!at || (s.editor && s.editor.cell === cellOf(e))) return;
    if (pinKey(s.pin) === [at.id, at.i, at.j].join()) startEdit(s, reach(s, at)); // a second click or tap
    else setPin(s, { id: at.id, row: at.i, col: at.j });
    if (s.fit.cell && !s.editor) reach(s, at).focus({ preventScroll: true });
  };
  s.eq.ondblclick = (e) => {
    const at = placeOf(s, e);
    if (at) startEdit(s, reach(s, at));
  };
}

/** @param {State} s */
function listenToKeys(s) {
  s.eq.addEventListener("focusin", (e) => {
    const cell = cellOf(e);
    if (cell && e.target === cell) {
      rove(s, cell);
      s.focus = place(s, cell);
      point(s);
    }
  });
  s.eq.addEventListener("focusout", (e) => {
    if (!/** @type {Element} */ (e.relatedTarget)?.closest?.(".cell")) {
      s.focus = null;
      point(s);
    }
  });
  s.eq.onkeydown = (e) => {
    const cell = cellOf(e);
    if (cell) onCellKey(s, cell, e);
  };
  s.onEscape = (e) => {
    const here = document.activeElement === document.body || document.activeElement === (s.parent.host ?? s.root) ||
      s.root.contains(document.activeElement);
    if (e.key === "Escape" && s.pin && here && !e.defaultPrevented) setPin(s, null);
  };
  document.addEventListener("keydown", s.onEscape);
}

/**
 * What changes the room that there is.
 * @param {State} s
 */
function listenToPage(s) {
  s.observer = new ResizeObserver(() => {
    const width = Math.floor(s.root.clientWidth);
    if (s.data && width && width !== s.width) {
      s.width = width;
      s.refit();
    }
  });
  s.observer.observe(s.root);
  s.onFonts = () => { // the code font may come late
    if (s.data) {
      characterWidth(s);
      s.refit();
    }
  };
  document.fonts.addEventListener("loadingdone", s.onFonts);
  s.onHeight = () => { // on a phone the height changes while one scrolls
    if (!s.data || s.height === innerHeight) return;
    if (s.fit.stack) point(s);
    else s.refit();
  };
  addEventListener("resize", s.onHeight);
}

/**
 * @param {State} s
 * @param {string} id
 */
function cellSize(s, id) {
  const u = s.ui[id], cell = u.cells[0][0];
  return s.fit.cell ? [u.w, u.h] : [cell.offsetWidth, cell.offsetHeight];
}

/**
 * @param {State} s
 * @param {string} id
 * @param {any} e
 */
function grip(s, id, e) {
  const f = s.frames[id], [w, h] = cellSize(s, id);
  return { id, x: e.clientX, y: e.clientY, row: f.rg.start, col: f.cg.start, w, h };
}

const SLIP = 6; // pixels that a click may wander

/**
 * @param {State} s
 * @param {any} e
 */
function drag(s, e) {
  const { id, x, y, row, col, w, h } = s.drag, f = s.frames[id], dx = e.clientX - x, dy = e.clientY - y;
  if (!s.dragged && Math.max(Math.abs(dx), Math.abs(dy)) < SLIP) return;
  if (!s.dragged) s.eq.setPointerCapture(e.pointerId);
  s.dragged = true;
  slide(s, f.rg, row - Math.round(dy / h));
  slide(s, f.cg, col - Math.round(dx / w));
}

/**
 * @param {State} s
 * @param {Group} g
 * @param {number} start
 */
function slide(s, g, start) {
  const to = Math.max(0, Math.min(start, g.total - g.count));
  if (s.wanted || to === g.start) return;
  if (pan(s, g, to)) s.redraw();
}

/**
 * @param {State} s
 * @param {WheelEvent} e
 */
function wheel(s, e) {
  const at = placeOf(s, e), g = at && s.frames[at.id].cg, by = e.shiftKey && !e.deltaX ? e.deltaY : e.deltaX;
  if (!g || g.count >= g.total || Math.abs(by) < (e.shiftKey ? 1 : Math.abs(e.deltaY))) return;
  e.preventDefault();
  s.rolled = (s.rolled ?? 0) + by;
  const [width] = cellSize(s, at.id), steps = Math.trunc(s.rolled / width);
  s.rolled -= steps * width;
  slide(s, g, g.start + steps);
  hover(s, e);
}

/**
 * @param {State} s
 * @param {CellElement} cell
 */
function rove(s, cell) {
  for (const other of s.ui[cell.at.id].cells.flat()) if (other.tabIndex === 0) other.tabIndex = -1;
  cell.tabIndex = 0;
}

/**
 * @param {State} s
 * @param {CellElement} cell
 * @param {KeyboardEvent} e
 */
function onCellKey(s, cell, e) {
  const { id, i, j } = place(s, cell),
    f = s.frames[id],
    page = s.fit.cell ? 16 : f.rg.count,
    far = e.ctrlKey || e.metaKey;
  const to = {
    ArrowUp: [i - 1, j],
    ArrowDown: [i + 1, j],
    ArrowLeft: [i, j - 1],
    ArrowRight: [i, j + 1],
    PageUp: [i - page, j],
    PageDown: [i + page, j],
    Home: [far ? 0 : i, 0],
    End: [far ? Infinity : i, Infinity],
  }[e.key];
  if (e.key.startsWith("Page") && !s.fit.cell && f.rg.count >= f.rg.total) return; // nothing to turn here: the key may turn the page
  if (e.altKey || (far && e.key !== "Home" && e.key !== "End")) return;
  if (to) {
    e.preventDefault();
    moveFocus(s, f, to[0], to[1]);
    return;
  }
  if (f.editable && (e.key === "Delete" || e.key === "Backspace") && isEdited(s, f, i, j)) {
    e.preventDefault();
    setEdit(s, f, i, j);
    s.redraw();
    return;
  }
  if (f.editable && /^[-−+.\d]$/.test(e.key)) {
    e.preventDefault();
    startEdit(s, cell, e.key);
    return;
  }
  if (f.editable && (e.key === "Enter" || e.key === "F2")) {
    e.preventDefault();
    startEdit(s, cell);
    return;
  }
  if (e.key === "Enter" || e.key === " ") {
    e.preventDefault();
    setPin(s, { id, row: i, col: j });
  }
}

/**
 * Asks for the window that holds a place, if that was not sent.
 * @param {State} s
 * @param {Group} g
 * @param {number} at
 * @param {number} lo
 * @param {number} n
 */
function reachFor(s, g, at, lo, n) {
  if (at < lo || at >= lo + n) pan(s, g, at < lo ? at : at - g.count + 1);
}

/**
 * To (i, j), or as near as the whole matrix goes; what was not sent is asked for and takes the focus when it comes.
 * @param {State} s
 * @param {Frame} f
 * @param {number} i
 * @param {number} j
 */
function moveFocus(s, f, i, j) {
  i = Math.max(0, Math.min(i, f.rg.total - 1));
  j = Math.max(f.cs, Math.min(j, f.cg.total - 1 + f.cs));
  s.alert = "";
  s.hover = null;
  if (!has(f, i, j)) {
    reachFor(s, f.rg, i, f.r0, f.nr);
    reachFor(s, f.cg, j - f.cs, f.c0 - f.cs, f.nc);
    if (s.wanted) s.wanted.focus = { id: f.id, i, j };
    return;
  }
  const before = [f.rg.start, f.cg.start].join();
  bringBoth(f, i, j);
  if (before !== [f.rg.start, f.cg.start].join()) drawEquation(s);
  reach(s, { id: f.id, i, j })?.focus();
}
