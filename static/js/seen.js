// Tells the server what its reader has had on the screen: rows of the session list, and how far down a timeline.
//
// A row counts as seen when it was on the screen for a second while the page was in front. In the list a row that
// was new when this page was opened stays bold until the reader leaves, though the page is drawn again meanwhile.

const LOOK_MS = 1000;
const SEND_MS = 1500;

const csrf = document.querySelector('meta[name="csrf-token"]')?.content ?? "";
const list = () => document.querySelector("[data-see-rows]");
const timeline = () => document.querySelector("[data-see-timeline]");

const since = new Map(); // element on the screen → when it came there, or when the page came to the front
const told = new Map(); // key of a row → its last event that the server knows we saw
const waiting = new Map(); // the same, not sent yet
const fresh = new Set(); // rows that were new when this page was opened
let upTo = 0;
let upToTold = 0;

const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) since.set(target, Date.now());
      else since.delete(target);
    }
  },
  { threshold: 0.5 },
);

function watch() {
  for (const element of since.keys()) if (!element.isConnected) since.delete(element);
  for (const row of document.querySelectorAll("[data-seen], .timeline [data-at]")) watcher.observe(row);
}

function note(element) {
  if (element.dataset.at) {
    upTo = Math.max(upTo, Number(element.dataset.at));
    return;
  }
  const [key, last] = element.dataset.seen.split(".");
  if (element.querySelector(".unseen")) fresh.add(key);
  if (told.get(key) !== last) waiting.set(key, last);
}

async function post(address, pairs) {
  const answer = await fetch(address, {
    method: "POST",
    body: new URLSearchParams(pairs),
    headers: { "X-CSRFToken": csrf },
    credentials: "same-origin",
    keepalive: true, // what was seen counts though the page is being left
  });
  return answer.ok;
}

async function send() {
  const rows = [...waiting];
  const moment = upTo;
  try {
    if (rows.length && list() && (await post(list().dataset.seeRows, rows.map(([key, last]) => ["row", `${key}.${last}`])))) {
      for (const [key, last] of rows) {
        told.set(key, last);
        if (waiting.get(key) === last) waiting.delete(key);
      }
    }
    if (moment > upToTold && timeline() && (await post(timeline().dataset.seeTimeline, [["up_to", moment]]))) upToTold = moment;
  } catch {
    // The server is away: told with the next rows.
  }
}

function look() {
  if (document.hidden) return;
  const now = Date.now();
  for (const [element, came] of since) if (element.isConnected && now - came >= LOOK_MS) note(element);
}

document.addEventListener("live:swapped", watch);
document.addEventListener("htmx:load", watch);
document.addEventListener("live:before", ({ detail: { news } }) => {
  for (const key of fresh) {
    const title = news.querySelector(`[data-row="s-${key}"] a.cut`);
    if (!title || title.classList.contains("unseen")) continue;
    title.classList.add("unseen");
    title.insertAdjacentHTML("afterend", '<span class="vh">, changed since you last looked</span>');
  }
});
document.addEventListener("visibilitychange", () => {
  for (const element of since.keys()) since.set(element, Date.now());
  if (document.hidden) send();
});
addEventListener("pagehide", send);

watch();
setInterval(look, 250);
setInterval(send, SEND_MS);
