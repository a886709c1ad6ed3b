// Small pictures of matrices, a row of radio buttons. The choice goes to Python; the pictures are drawn here.

function make(tag, className, parent) {
  const node = document.createElement(tag);
  node.className = className;
  parent.append(node);
  return node;
}
function bytes(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

function paint(canvas, map) {
  const colour = getComputedStyle(canvas).color, n = colour.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
  const unit = colour.startsWith("color") ? 255 : 1, shades = bytes(map.shades);
  canvas.width = map.cols;
  canvas.height = map.rows;
  const draw = canvas.getContext("2d"), image = draw.createImageData(map.cols, map.rows);
  for (let k = 0; k < shades.length; k++) image.data.set([n[0] * unit, n[1] * unit, n[2] * unit, shades[k]], 4 * k);
  draw.putImageData(image, 0, 0);
}

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".thumbnails");
  const ink = getComputedStyle(root).color.match(/[\d.]+/g).map(Number);
  root.classList.toggle("dark", 0.2126 * ink[0] + 0.7152 * ink[1] + 0.0722 * ink[2] > 128); // light text: a dark page
  root.setAttribute("role", "radiogroup");
  root.setAttribute("aria-label", data.label);
  root.style.setProperty("--role", `var(--role-${data.role})`);
  while (root.children.length > data.maps.length) root.lastChild.remove();
  let chosen = Number(root.dataset.chosen ?? data.chosen); // what was chosen here outlives a rerun
  const mark = () =>
    [...root.children].forEach((b, k) => {
      b.setAttribute("aria-checked", String(k === chosen));
      b.tabIndex = k === chosen ? 0 : -1;
    });
  const choose = (k) => {
    chosen = (k + data.maps.length) % data.maps.length;
    root.dataset.chosen = chosen;
    mark();
    root.children[chosen].focus();
    setStateValue("chosen", chosen);
  };
  data.maps.forEach((map, k) => {
    const button = root.children[k] ?? make("button", "thumbnail", root);
    if (!button.children.length) {
      make("canvas", "", button);
      make("span", "", button);
      button.type = "button";
      button.setAttribute("role", "radio");
    }
    button.lastChild.textContent = map.label;
    button.onclick = () => choose(k);
    button.onkeydown = (e) => {
      const to = { ArrowRight: k + 1, ArrowDown: k + 1, ArrowLeft: k - 1, ArrowUp: k - 1, Home: 0, End: -1 }[e.key];
      if (to !== undefined) {
        e.preventDefault();
        choose(to);
      }
    };
    paint(button.firstChild, map);
  });
  mark();
}
