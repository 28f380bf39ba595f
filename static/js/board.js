// The board: drag, move by key and menu, the story's drawer. Everything here has a way without it: each card
// links to its story's page, where buttons do the same.

const live = () => document.getElementById("live");
const drawer = document.getElementById("drawer");
const said = document.getElementById("board-said");
const template = document.getElementById("move-menu"); // only who may write has it
const csrf = document.querySelector('meta[name="csrf-token"]').content;
const COLUMNS = ["todo", "in_progress", "review", "blocked", "done"];
const PARKED_MS = 10000; // a pointer that lies still so long reads nothing

const address = (id) => `/board/stories/${id}/`;
const cardOf = (id) => live().querySelector(`.card[data-row="${id}"]`);
const columnOf = (card) => card.closest("[data-column]");
const titleOf = (column) => column.closest(".col").querySelector("header :is(h2, h3)").textContent.trim();

function say(text, bad = false) {
  if (bad) document.dispatchEvent(new CustomEvent("toast", { detail: { text, bad } }));
  else said.textContent = text;
}

// == Moves ==

let mine = false; // the next news is the answer to the reader's own move and may be shown at once
let turn = Promise.resolve(); // one after another, so that each sends the version that the last one made

function move(card, values) {
  const id = card.dataset.row;
  turn = turn.then(() => send(id, values));
  return turn;
}

async function send(id, values) {
  const card = cardOf(id);
  const body = new URLSearchParams({ ...values, bare: "1", version: card?.dataset.v ?? "" });
  let answer;
  try {
    answer = await fetch(`${address(id)}move/`, {
      method: "POST",
      body,
      headers: { "HX-Request": "true", "X-CSRFToken": csrf },
      credentials: "same-origin",
    });
  } catch {
    say("The server did not answer. Nothing was moved.", true);
    return redraw();
  }
  const text = answer.status === 204 ? "" : await answer.text();
  if (answer.status === 204) {
    if (card) card.dataset.v = answer.headers.get("X-Story-Version") ?? card.dataset.v;
    say(`S-${id} moved`);
  } else if (answer.ok) say(`S-${id} stands there already`);
  else say(text.slice(0, 500) || `The server answered ${answer.status}.`, true);
  redraw();
}

// Ask for the whole board, also when nothing changed there: what was dragged here may have been refused.
function redraw() {
  mine = true;
  live().dataset.version = "";
  document.dispatchEvent(new CustomEvent("live:now"));
}

function beside(card) {
  const card_id = (one) => one?.dataset?.row;
  const after = card_id(card.previousElementSibling);
  if (after) return { after };
  const before = card_id(card.nextElementSibling);
  return before ? { before } : {};
}

// == Drag ==

function sortable() {
  if (!template || !window.Sortable) return;
  for (const column of live().querySelectorAll("[data-column]")) {
    window.Sortable.create(column, {
      group: { name: `lane-${column.dataset.lane}`, put: column.dataset.column !== "other" },
      draggable: ".card",
      filter: ".menu, .mv",
      preventOnFilter: false,
      animation: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 90,
      delay: 180,
      delayOnTouchOnly: true,
      ghostClass: "ghost",
      onStart: ({ item }) => item.classList.add("dragging"),
      onEnd: ({ item, from, to, oldDraggableIndex, newDraggableIndex }) => {
        item.classList.remove("dragging");
        if (from === to && oldDraggableIndex === newDraggableIndex) return;
        move(item, { ...(from === to ? {} : { to: to.dataset.column }), ...beside(item) });
      },
    });
  }
}

// == Menu ==

function openMenu(link) {
  const card = link.closest(".card");
  const menu = template.content.firstElementChild.cloneNode(true);
  for (const button of menu.querySelectorAll(`[data-to="${columnOf(card).dataset.column}"]`)) button.remove();
  link.hidden = true;
  link.after(menu);
  menu.querySelector("button").focus();
  menu.addEventListener("toggle", () => {
    if (menu.open) return;
    const had = menu.contains(document.activeElement) || document.activeElement === document.body;
    menu.remove();
    link.hidden = false;
    if (had) link.focus();
  });
  menu.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const values = button.dataset.to ? { to: button.dataset.to } : { where: button.dataset.where };
    menu.open = false;
    move(card, values);
  });
}

// == Drawer ==

let opener = null;

async function openStory(id, { push = true } = {}) {
  opener = cardOf(id)?.querySelector("h3 a") ?? null;
  if (push) history.pushState(null, "", `#story-${id}`);
  await window.htmx.ajax("GET", `${address(id)}?drawer=1`, { target: "#drawer", swap: "innerHTML" });
  drawer.classList.add("open");
  drawer.focus({ preventScroll: true });
}

function closeStory({ push = true } = {}) {
  if (!drawer.classList.contains("open")) return;
  const id = drawer.querySelector("[data-story]")?.dataset.story;
  drawer.classList.remove("open");
  drawer.replaceChildren();
  if (push) history.pushState(null, "", location.pathname + location.search);
  const back = opener?.isConnected ? opener : cardOf(id)?.querySelector("h3 a");
  back?.focus({ preventScroll: true });
}

function followAddress() {
  const id = /^#story-(\d{1,18})$/.exec(location.hash)?.[1];
  if (id) openStory(id, { push: false });
  else closeStory({ push: false });
}

addEventListener("popstate", followAddress);
document.addEventListener("board:changed", redraw);

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-drawer-close]")) return closeStory();
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const handle = event.target.closest(".card .mv");
  if (handle && template) {
    event.preventDefault();
    event.stopPropagation(); // or the page would close the menu that this very click opens
    return openMenu(handle);
  }
  const link = event.target.closest(".card h3 a");
  if (!link) return;
  event.preventDefault();
  openStory(link.closest(".card").dataset.row);
}, true);

// == Keys: before those of every page, which J and K belong to elsewhere ==

const ACTIONS = {
  h: () => sideways(-1),
  l: () => sideways(1),
  j: () => upDown(1),
  k: () => upDown(-1),
  J: () => onHere((card) => move(card, { where: "down" })),
  K: () => onHere((card) => move(card, { where: "up" })),
  m: () => onHere((card) => template && openMenu(card.querySelector(".mv"))),
  c: () => document.getElementById("new-story")?.click(),
};

const here = () => document.activeElement?.closest?.(".card") ?? live().querySelector(".card.here");

function onHere(act) {
  const card = here();
  if (card && template) act(card);
}

function go(card) {
  if (!card) return;
  for (const one of live().querySelectorAll(".card.here")) one.classList.remove("here");
  card.classList.add("here");
  card.querySelector("h3 a").focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function upDown(step) {
  const card = here();
  if (!card) return go(live().querySelector(".card"));
  go((step > 0 ? card.nextElementSibling : card.previousElementSibling) ?? card);
}

function sideways(step) {
  const card = here();
  if (!card) return go(live().querySelector(".card"));
  const columns = [...card.closest(".board").querySelectorAll("[data-column]")];
  const row = [...columnOf(card).children].indexOf(card);
  for (let at = columns.indexOf(columnOf(card)) + step; columns[at]; at += step) {
    const cards = columns[at].children;
    if (cards.length) return go(cards[Math.min(row, cards.length - 1)]);
  }
}

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && !document.querySelector(":is(.menu, .chip)[open]")) return closeStory();
  if (event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem("contextdash-letter-keys") === "off") return;
  if (event.target.closest("input, textarea, select, #drawer")) return;
  const column = COLUMNS[Number(event.key) - 1];
  const menu = event.target.closest(".menu[open]");
  if (menu && !column) return;
  const action = column ? () => onHere((card) => toColumn(card, column, menu)) : ACTIONS[event.key];
  if (!action) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}, true);

function toColumn(card, to, menu) {
  if (menu) menu.open = false;
  if (columnOf(card).dataset.column === to) return;
  go(card);
  move(card, { to });
}

// == News: never a card from under the pointer ==

let pointed = 0;
document.addEventListener("pointermove", () => (pointed = Date.now()), { passive: true });

function place(card) {
  const column = columnOf(card);
  const above = [];
  for (let one = card.previousElementSibling; one; one = one.previousElementSibling) above.push(one.dataset.row);
  return [column.dataset.lane, column.dataset.column, ...above].join(" ");
}

document.addEventListener("live:before", (event) => {
  if (event.target.id !== "live") return;
  const { news } = event.detail;
  const pointedAt = live().querySelector(".card:hover");
  if (pointedAt && !mine && Date.now() - pointed < PARKED_MS) {
    const twin = news.querySelector(`.card[data-row="${pointedAt.dataset.row}"]`);
    if (!twin || place(twin) !== place(pointedAt)) return event.preventDefault();
  }
  mine = false;
  // The burn-down was fetched apart and is fetched again by itself.
  const burn = document.getElementById("burn");
  const twin = news.querySelector("#burn");
  if (burn && twin?.getAttribute("hx-get") === burn.getAttribute("hx-get")) twin.replaceWith(burn);
});

document.addEventListener("live:swapped", (event) => {
  if (event.target.id === "live") sortable();
});

sortable();
if (location.hash) followAddress();
