// What every page has: dialogs, menus, copying, toasts, the reader's zone, waiting times that stay true.
// Elements say what they do by attribute; nothing here knows a page.

const csrf = document.querySelector('meta[name="csrf-token"]')?.content ?? "";

document.addEventListener("htmx:configRequest", (event) => {
  event.detail.headers["X-CSRFToken"] = csrf;
});

// == Toasts ==

const TOAST_MS = 6000;

function toast(text, { bad = false } = {}) {
  const made = document.getElementById("toast").content.firstElementChild.cloneNode(true);
  made.querySelector("[data-text]").textContent = text;
  made.classList.toggle("toast--bad", bad);
  if (bad) made.setAttribute("role", "alert");
  document.getElementById("toasts").append(made);
  if (!bad) setTimeout(() => made.remove(), TOAST_MS); // a failure stays until it is read
}

// Any script may say something: document.dispatchEvent(new CustomEvent("toast", {detail: {text, bad}})).
document.addEventListener("toast", ({ detail }) => toast(detail.text, detail));

document.addEventListener("htmx:responseError", ({ detail: { xhr } }) => {
  const plain = (xhr.getResponseHeader("Content-Type") ?? "").startsWith("text/plain");
  toast(plain && xhr.responseText ? xhr.responseText.slice(0, 500) : `The server answered ${xhr.status}.`, { bad: true });
});
document.addEventListener("htmx:sendError", () => toast("The server did not answer. Nothing was changed.", { bad: true }));

// == Clicks ==

async function copy(button) {
  const wanted = button.dataset.copy;
  const source = wanted.startsWith("#") ? document.querySelector(wanted) : button.parentElement;
  const text = wanted.startsWith("#") ? source?.textContent ?? "" : wanted;
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  } catch {
    // Over plain http from another machine there is no clipboard; what is selected can still be copied.
    if (source) getSelection().selectAllChildren(source);
    toast("The browser does not allow copying here. It is selected: press Ctrl C.", { bad: true });
  }
}

// A link to a text: copied when the browser allows it, else followed.
async function copyFrom(link) {
  try {
    const answer = await fetch(link.href, { headers: { Accept: "text/markdown" } });
    if (!answer.ok) throw new Error(answer.statusText);
    await navigator.clipboard.writeText(await answer.text());
    toast("Copied");
  } catch {
    location.assign(link.href);
  }
}

document.addEventListener("click", (event) => {
  closeOtherMenus(event.target);
  const source = event.target.closest("[data-copy-from]");
  if (source && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
    event.preventDefault();
    copyFrom(source);
    return;
  }
  const button = event.target.closest("[data-dialog], [data-close], [data-copy], [data-dismiss], [data-refresh]");
  if (!button) return;
  if (button.dataset.dialog) document.querySelector(button.dataset.dialog)?.showModal();
  else if ("close" in button.dataset) button.closest("dialog")?.close();
  else if (button.dataset.copy !== undefined) copy(button);
  else if ("dismiss" in button.dataset) button.closest(".toast")?.remove();
  else if ("refresh" in button.dataset) {
    event.preventDefault();
    location.reload();
  }
});

// A dialog that is closed is dropped with what was typed into it, so that it holds no news back.
document.addEventListener(
  "close",
  (event) => {
    for (const form of event.target.querySelectorAll?.("form") ?? []) form.reset();
  },
  true, // it does not bubble
);

// On a phone the tabs of a page scroll: the current one is in sight.
const currentTab = document.querySelector(".tabs [aria-current]");
if (currentTab) currentTab.closest(".tabs").scrollLeft = Math.max(0, currentTab.offsetLeft - 48);

// == Menus: one click elsewhere or Escape closes them ==

const OPEN_MENUS = ":is(.menu, .chip, .nav-more)[open]";

function closeOtherMenus(target) {
  for (const menu of document.querySelectorAll(OPEN_MENUS)) if (!menu.contains(target)) menu.open = false;
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  for (const menu of document.querySelectorAll(OPEN_MENUS)) {
    const inside = menu.contains(document.activeElement);
    menu.open = false;
    if (inside) menu.querySelector("summary")?.focus();
  }
});

// == Time ==

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const known = document.cookie.split("; ").find((part) => part.startsWith("contextdash_zone="))?.slice(17);
if (zone && zone !== known) {
  document.cookie = `contextdash_zone=${zone};path=/;max-age=31536000;samesite=lax`;
  // Drawn in UTC this once: draw it again, unless the browser keeps no cookies.
  if (known === undefined && zone !== "UTC" && document.cookie.includes("contextdash_zone=") && document.querySelector("time")) location.reload();
}

function wait(seconds) {
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h ${String(Math.floor(seconds / 60) % 60).padStart(2, "0")}m`;
  return `${Math.floor(seconds / 86400).toLocaleString("en")}d`;
}

setInterval(() => {
  if (document.hidden) return;
  for (const time of document.querySelectorAll("time[data-since]")) {
    const text = wait(Math.max(0, Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000)));
    const shown = time.dataset.since === "ago" ? `${text} ago` : text;
    if (time.textContent !== shown) time.textContent = shown;
  }
}, 1000);
