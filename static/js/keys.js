// Single keys: / search, J K move, Enter open, . new rows, ? the list of keys. Every one has a visible control,
// and a reader who speaks to the computer or types by accident can turn them off (in the list of keys).

const STORE = "contextdash-letter-keys";
const enabled = () => localStorage.getItem(STORE) !== "off";

const box = document.querySelector("[data-letter-keys]");
if (box) {
  box.checked = enabled();
  box.addEventListener("change", () => localStorage.setItem(STORE, box.checked ? "on" : "off"));
}

const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);

function move(step) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.classList.contains("here"));
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step))];
  for (const row of all) row.classList.toggle("here", row === next);
  next.querySelector("a[href], button, summary")?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function search() {
  const field = document.querySelector('main input[type="search"]') ?? document.getElementById("q");
  if (!field) return;
  // On a phone the search box of the bar is not there: its page is.
  if (field.offsetParent === null) location.assign(field.form.action);
  else field.focus();
}

const ACTIONS = {
  "/": search,
  "?": () => document.getElementById("keys")?.showModal(),
  ".": () => document.dispatchEvent(new CustomEvent("live:take")),
  j: () => move(1),
  k: () => move(-1),
};

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !enabled()) return;
  if (event.target.closest("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]")) return;
  const action = ACTIONS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
