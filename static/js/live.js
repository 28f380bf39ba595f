// Elements that watch for news.
//
//   <div id="live" data-live="/sessions/?status=active" data-version="…" data-live-mode="pill">
//
// Every second (15 when the page is hidden; `data-every` seconds where given) the address is asked with `v=`
// the version that is shown. 204 means nothing new; otherwise the answer's element of the same id takes its
// place. In mode "pill" rows that appear or move wait for a click or the full stop key, unless the page is at
// its top. Nothing is swapped while a dialog or a menu is open, a field has the focus, a form holds something
// unsent, text is selected, or something is dragged. Focus, open <details id>, and the scroll of elements with
// an id stay; an element `id … data-keep` inside an open <details> is carried over as it is (a body that was
// fetched on opening).
// The swapped element may carry `data-title` for the page and fires "live:swapped".

const VISIBLE_MS = 1000;
const HIDDEN_MS = 15000;
const STALE_MS = 12000;
const AT_TOP_PX = 8;

const held = new Map(); // id of a live element → the news that waits for its reader
let lastAnswer = Date.now();

function address(element) {
  const url = new URL(element.dataset.live, location.href);
  url.searchParams.set("v", element.dataset.version ?? "");
  return url;
}

async function ask(element) {
  const response = await fetch(address(element), {
    headers: { "HX-Request": "true", "X-Requested-With": "fetch" },
    credentials: "same-origin",
    signal: AbortSignal.timeout(10000),
  });
  if (response.redirected) throw new Error("signed out");
  if (response.status === 204) return null;
  if (!response.ok) throw new Error(`status ${response.status}`);
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  return parsed.getElementById(element.id);
}

// == May it be swapped now? ==

function busy(element) {
  if (document.querySelector("dialog[open]") || element.querySelector(":is(.menu, .chip)[open], .dragging, .htmx-request")) return true;
  if (element.matches("details[open]")) return true;
  const focused = document.activeElement;
  if (element.contains(focused) && focused.matches("input:not([type=checkbox], [type=radio]), textarea, select")) return true;
  if (unsent(element)) return true;
  const selection = getSelection();
  return !selection.isCollapsed && element.contains(selection.anchorNode);
}

// What somebody ticked or typed into a form that changes something, and has not sent yet, would be lost.
function unsent(element) {
  return [...element.querySelectorAll("input, textarea")].some((field) => {
    if (field.form?.method !== "post") return false;
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    return field.value !== field.defaultValue;
  });
}

const rowsOf = (element) => [...element.querySelectorAll("[data-row]")].map((row) => row.dataset.row);

function mustWait(element, news) {
  if (element.dataset.liveMode !== "pill" || scrollY < AT_TOP_PX) return false;
  return rowsOf(element).join("\n") !== rowsOf(news).join("\n");
}

// == Swap ==

function focusPath(element) {
  const focused = document.activeElement;
  if (!element.contains(focused) || focused === element) return null;
  if (focused.id) return `#${CSS.escape(focused.id)}`;
  const row = focused.closest("[data-row]");
  if (!row) return null;
  const within = [...row.querySelectorAll("a, button, summary, input")].indexOf(focused);
  return { row: row.dataset.row, within };
}

function refocus(element, path) {
  if (!path) return;
  if (typeof path === "string") return element.querySelector(path)?.focus({ preventScroll: true });
  const row = element.querySelector(`[data-row="${CSS.escape(path.row)}"]`);
  const target = path.within < 0 ? row : row?.querySelectorAll("a, button, summary, input")[path.within];
  target?.focus({ preventScroll: true });
}

function keep(element, news) {
  for (const details of element.querySelectorAll("details[id]")) {
    const twin = news.querySelector(`#${CSS.escape(details.id)}`);
    if (twin) twin.open = details.open;
  }
  for (const kept of element.querySelectorAll("details[open] [id][data-keep]")) {
    news.querySelector(`#${CSS.escape(kept.id)}`)?.replaceWith(kept);
  }
  for (const row of element.querySelectorAll("[data-row].here")) {
    news.querySelector(`[data-row="${CSS.escape(row.dataset.row)}"]`)?.classList.add("here");
  }
}

function scrolls(element) {
  const places = [...element.querySelectorAll("[id]")].filter((one) => one.scrollLeft || one.scrollTop);
  return places.map((one) => [one.id, one.scrollLeft, one.scrollTop]);
}

function swap(element, news) {
  const path = focusPath(element);
  const places = scrolls(element);
  const made = document.adoptNode(news);
  keep(element, made);
  element.replaceWith(made);
  for (const [id, left, top] of places) document.getElementById(id)?.scrollTo(left, top);
  refocus(made, path);
  window.htmx?.process(made);
  if (made.dataset.title) document.title = made.dataset.title;
  for (const count of made.querySelectorAll("[data-count-of]")) showCount(count.dataset.countOf, count.textContent);
  held.delete(made.id);
  showPill();
  made.dispatchEvent(new CustomEvent("live:swapped", { bubbles: true }));
}

function showCount(name, text) {
  for (const count of document.querySelectorAll(`[data-count="${name}"]`)) {
    count.querySelector("[data-number]").textContent = text;
    count.hidden = text === "0";
  }
}

// == The pill ==

function showPill() {
  const pill = document.querySelector("[data-new-rows]");
  if (!pill) return;
  let added = 0;
  for (const [id, news] of held) {
    const known = new Set(rowsOf(document.getElementById(id) ?? document.body));
    added += rowsOf(news).filter((row) => !known.has(row)).length;
  }
  const text = added ? `${added} new ${added === 1 ? "row" : "rows"}` : "Rows have moved";
  pill.hidden = held.size === 0;
  const label = pill.querySelector("[data-text]");
  if (!pill.hidden && label.textContent !== text) label.textContent = text;
}

function takeNewRows() {
  for (const [id, news] of [...held]) {
    const element = document.getElementById(id);
    if (element) swap(element, news);
  }
  held.clear();
  showPill();
}

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-new-rows]")) return;
  takeNewRows();
  scrollTo({ top: 0 });
});
document.addEventListener("live:take", takeNewRows);

// == The beat ==

async function look(element) {
  const news = await ask(element);
  lastAnswer = Date.now();
  if (!news || !element.isConnected || busy(element)) return;
  // A page's own script may look at the news first, carry something over, or hold it back until the next beat.
  if (!element.dispatchEvent(new CustomEvent("live:before", { bubbles: true, cancelable: true, detail: { news } }))) return;
  if (mustWait(element, news)) {
    held.set(element.id, news);
    showPill();
  } else swap(element, news);
}

const due = new Map(); // id → when it is asked next

async function beat() {
  const now = Date.now();
  for (const element of document.querySelectorAll("[data-live]")) {
    if (now < (due.get(element.id) ?? 0)) continue;
    const wanted = Number(element.dataset.every ?? 0) * 1000;
    due.set(element.id, now + Math.max(wanted, document.hidden ? HIDDEN_MS : VISIBLE_MS) - 50);
    try {
      await look(element);
    } catch {
      due.set(element.id, now + 5000); // asked again less often; the freshness line says that it is stale
    }
  }
  const stale = Date.now() - lastAnswer > (document.hidden ? HIDDEN_MS * 2 : STALE_MS);
  for (const state of document.querySelectorAll("[data-fresh]")) state.hidden = (state.dataset.fresh === "stale") !== stale;
}

async function run() {
  await beat();
  setTimeout(run, VISIBLE_MS);
}

// After a change of the reader's own: look at once.
document.addEventListener("live:now", () => {
  due.clear();
  beat();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  lastAnswer = Date.now();
  due.clear();
});
setTimeout(run, VISIBLE_MS);
