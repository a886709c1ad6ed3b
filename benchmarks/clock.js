// Runs in the page. start(): from the next pointerdown or keydown on, notes when what `shown()` returns first changes
// (checked in every animation frame) and when the page last changed at all, shadow roots included.
(() => {
  const clock = (window.__clock = { began: 0, changed: 0, last: 0 });
  const watch = (node) => {
    new MutationObserver((records) => {
      clock.last = performance.now();
      for (const record of records) record.addedNodes.forEach(adopt);
    }).observe(node, { subtree: true, childList: true, characterData: true, attributes: true });
  };
  const adopted = new WeakSet();
  const adopt = (node) => {
    if (node.nodeType !== 1) return;
    for (const element of [node, ...node.querySelectorAll("*")]) {
      if (element.shadowRoot && !adopted.has(element.shadowRoot)) {
        adopted.add(element.shadowRoot);
        watch(element.shadowRoot);
      }
    }
  };
  watch(document.documentElement);
  const shown = () => {
    const roots = [document, ...[...document.querySelectorAll("*")].map((e) => e.shadowRoot).filter(Boolean)];
    const found = '[role="gridcell"], .dock, [role="status"], .chip, .ledger td';
    const cells = roots.flatMap((root) => [...root.querySelectorAll(found)]);
    return (cells.length ? cells : [...document.querySelectorAll('[data-testid="stText"]')])
      .map((cell) => cell.textContent).join("|");
  };
  clock.start = () => {
    adopt(document.documentElement);
    clock.began = clock.changed = clock.last = 0;
    const before = shown();
    const begin = () => {
      if (clock.began) return;
      clock.began = performance.now();
      const look = () => {
        if (shown() !== before) clock.changed = performance.now();
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    };
    for (const kind of ["pointerdown", "keydown"]) window.addEventListener(kind, begin, { capture: true, once: true });
  };
  clock.quiet = (ms) => clock.changed && performance.now() - Math.max(clock.last, clock.changed) > ms;
  clock.read = () => [clock.changed - clock.began, Math.max(clock.last, clock.changed) - clock.began];
})();
