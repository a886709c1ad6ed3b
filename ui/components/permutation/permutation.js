// Tokens in a row, put into another order by dragging or by the keyboard. The order is a list of old places in their
// new order; every finished move goes back as state.

const STATES = new WeakMap();
const ECHO = 3000; // milliseconds for which an answer of Python may be late

function make(tag, className, parent) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  parent?.append(node);
  return node;
}
function say(s, key, values = {}) {
  return s.data.strings[key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}
function button(parent, act) {
  const node = make("button", "act", parent);
  node.type = "button";
  node.onclick = act;
  return node;
}

function mount(parentElement) {
  const root = parentElement.querySelector(".permutation");
  const s = { root, order: [], sent: [], active: 0, chips: new Map() };
  root.replaceChildren();
  s.list = make("div", "chips", root);
  s.list.setAttribute("role", "group");
  // The list holds the pointer, since a chip loses it when it is put elsewhere.
  s.list.onpointerdown = (e) => {
    const chip = e.target.closest(".chip");
    if (!chip || e.button) return;
    s.active = chip.token;
    s.drag = { token: chip.token, before: s.order.join() };
    s.list.setPointerCapture(e.pointerId);
    draw(s);
  };
  s.list.onpointermove = (e) => {
    if (s.drag) dragTo(s, e);
  };
  s.list.onpointerup = s.list.onpointercancel = () => drop(s);
  const acts = make("div", "acts", root);
  s.earlier = button(acts, () => move(s, s.active, -1));
  s.later = button(acts, () => move(s, s.active, 1));
  s.reverse = button(acts, () => put(s, [...s.order].reverse(), "changed"));
  s.reset = button(acts, () => put(s, s.order.map((_, place) => place), "changed"));
  s.hint = make("span", "hint", acts);
  s.live = make("span", "said", root);
  s.live.setAttribute("role", "status");
  return s;
}

function chipOf(s, token) {
  let chip = s.chips.get(token);
  if (chip) return chip;
  chip = make("button", "chip");
  chip.type = "button";
  chip.token = token;
  make("bdi", "", chip);
  make("sub", "", chip);
  chip.onfocus = () => {
    s.active = token;
    draw(s);
  };
  chip.onkeydown = (e) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key], to = { ArrowUp: -1, ArrowDown: 1 }[e.key];
    if (!by && !to) return;
    e.preventDefault();
    if (by) move(s, token, by);
    else focus(s, s.order[s.order.indexOf(token) + to]);
  };
  s.chips.set(token, chip);
  return chip;
}

function dragTo(s, e) {
  const under = s.list.getRootNode().elementFromPoint(e.clientX, e.clientY)?.closest?.(".chip");
  if (!under || under.token === s.drag.token) return;
  const order = s.order.filter((token) => token !== s.drag.token), box = under.getBoundingClientRect();
  const forwards = s.order.indexOf(under.token) > s.order.indexOf(s.drag.token);
  if (forwards ? e.clientX < box.x + box.width * .3 : e.clientX > box.x + box.width * .7) return; // no swinging back and forth
  order.splice(order.indexOf(under.token) + (forwards ? 1 : 0), 0, s.drag.token);
  s.order = order;
  draw(s);
}
function drop(s) {
  const drag = s.drag;
  s.drag = null;
  if (drag && drag.before !== s.order.join()) put(s, s.order, "moved", drag.token);
  else draw(s);
}

function move(s, token, by) {
  const from = s.order.indexOf(token), to = from + by;
  if (to < 0 || to >= s.order.length) return;
  const order = [...s.order];
  [order[from], order[to]] = [order[to], order[from]];
  put(s, order, "moved", token);
}
function put(s, order, word, token) {
  s.order = order;
  s.sent.push({ key: order.join(), time: Date.now() });
  s.send("order", order);
  draw(s);
  const at = token === undefined ? 0 : order.indexOf(token);
  s.live.textContent = say(s, word, { token: s.data.tokens[order[at]], place: at + 1, count: order.length });
}
function focus(s, token) {
  if (token !== undefined) s.chips.get(token).focus();
}

function draw(s) {
  const { tokens } = s.data, focused = s.list.getRootNode().activeElement;
  const chips = s.order.map((token) => chipOf(s, token));
  if (chips.some((chip, k) => s.list.children[k] !== chip) || s.list.children.length !== chips.length) {
    s.list.replaceChildren(...chips);
  }
  if (chips.includes(focused) && s.list.getRootNode().activeElement !== focused) focused.focus({ preventScroll: true });
  if (!s.order.includes(s.active)) s.active = s.order[0];
  chips.forEach((chip, place) => {
    chip.children[0].textContent = tokens[chip.token];
    chip.children[1].textContent = chip.token + 1;
    chip.tabIndex = chip.token === s.active ? 0 : -1;
    chip.classList.toggle("active", chip.token === s.active);
    chip.classList.toggle("moved", chip.token !== place);
    chip.classList.toggle("dragged", s.drag?.token === chip.token);
    chip.setAttribute(
      "aria-label",
      say(s, "chip", { token: tokens[chip.token], n: chip.token + 1, place: place + 1, count: chips.length }),
    );
  });
  const at = s.order.indexOf(s.active), name = { token: tokens[s.active] };
  s.earlier.textContent = "←";
  s.earlier.setAttribute("aria-label", say(s, "earlier", name));
  s.earlier.disabled = at <= 0;
  s.later.textContent = "→";
  s.later.setAttribute("aria-label", say(s, "later", name));
  s.later.disabled = at === s.order.length - 1;
  s.reverse.textContent = say(s, "reverse");
  s.reset.textContent = say(s, "reset");
  s.reset.disabled = s.order.every((token, place) => token === place);
  s.list.setAttribute("aria-label", say(s, "group"));
  s.hint.textContent = say(s, "hint");
}

// An answer to an older move than the last must not take the last one back.
function take(s, order) {
  const key = order.join(), echo = s.sent.findIndex((one) => one.key === key);
  if (echo >= 0) s.sent.splice(0, echo + 1);
  s.sent = s.sent.filter((one) => Date.now() - one.time < ECHO);
  if (!s.sent.length && !s.drag) s.order = [...order];
}

export default function ({ data, parentElement, setStateValue }) {
  let s = STATES.get(parentElement);
  if (!s) STATES.set(parentElement, s = mount(parentElement));
  const other = s.data && JSON.stringify(s.data.tokens) !== JSON.stringify(data.tokens);
  s.data = data;
  s.send = setStateValue;
  if (other) {
    s.sent = [];
    s.drag = null;
    s.chips.clear();
  }
  take(s, data.order);
  draw(s);
  return () => STATES.delete(parentElement);
}
