// A waterfall: drag over its bars or over the strip zooms there; keys press the buttons. Addresses say what is shown.

const SHORTEST_PX = 6;

function show(from, to) {
  const chart = document.getElementById("waterfall");
  const link = document.createElement("a");
  const url = `${chart.dataset.home}?from=${Math.round(from)}&to=${Math.round(to)}`;
  for (const [name, value] of [["hx-get", url], ["hx-target", "#waterfall"], ["hx-swap", "outerHTML"], ["hx-push-url", "true"]]) link.setAttribute(name, value);
  link.hidden = true;
  chart.append(link);
  window.htmx.process(link);
  link.click();
}

// The surface of a drag: the strip has the whole time, the column of bars what is shown.
function surface(target) {
  const strip = target.closest("[data-strip]");
  if (strip) return { box: strip.getBoundingClientRect(), of: strip.dataset };
  const bars = target.closest(".wf td.wfcell, .wf th.c-bar");
  if (!bars) return null;
  return { box: (bars.querySelector("svg") ?? bars).getBoundingClientRect(), of: document.getElementById("waterfall").dataset };
}

let drag = null;

function mark(x) {
  const left = Math.min(drag.x, x);
  Object.assign(drag.mark.style, { left: `${left + scrollX}px`, top: `${drag.box.top + scrollY}px`, width: `${Math.abs(x - drag.x)}px`, height: `${drag.height}px` });
}

document.addEventListener("pointerdown", (event) => {
  if (event.button !== 0 || event.pointerType === "touch") return;
  const found = surface(event.target);
  if (!found) return;
  const table = event.target.closest("table");
  drag = { ...found, x: event.clientX, moved: false, height: found.box.height };
  if (table) {
    const whole = table.getBoundingClientRect();
    drag.box = { left: found.box.left, width: found.box.width, top: whole.top };
    drag.height = whole.height;
  }
  event.preventDefault(); // no text is selected, no link is dragged away
});

document.addEventListener("pointermove", (event) => {
  if (!drag) return;
  if (!drag.moved && Math.abs(event.clientX - drag.x) < SHORTEST_PX) return;
  if (!drag.moved) {
    drag.moved = true;
    drag.mark = document.createElement("div");
    drag.mark.className = "wf-mark";
    document.body.append(drag.mark);
  }
  mark(Math.max(drag.box.left, Math.min(drag.box.left + drag.box.width, event.clientX)));
});

document.addEventListener("pointerup", (event) => {
  if (!drag) return;
  const done = drag;
  drag = null;
  done.mark?.remove();
  if (!done.moved) return;
  // The click that ends a drag opens no bar.
  addEventListener("click", (click) => { click.preventDefault(); click.stopPropagation(); }, { capture: true, once: true });
  setTimeout(() => {
    const from = Number(done.of.from);
    const length = Number(done.of.to) - from;
    const share = (x) => Math.max(0, Math.min(1, (x - done.box.left) / done.box.width));
    const [start, end] = [share(done.x), share(event.clientX)].sort((a, b) => a - b);
    if (end > start) show(from + start * length, from + end * length);
  }, 0);
});

document.addEventListener("pointercancel", () => { drag?.mark?.remove(); drag = null; });

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, .scroll") && event.key.startsWith("Arrow")) return;
  if (event.target.closest("input, textarea, select") || document.querySelector("dialog[open]")) return;
  const wanted = event.key === "=" ? "+" : event.key;
  const control = document.querySelector(`[data-zoom-key="${CSS.escape(wanted)}"]`);
  if (!control) return;
  event.preventDefault();
  control.click();
});
