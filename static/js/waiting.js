// How many sessions wait for an answer: in the title of every page, and, where the reader asked for it, as a
// notification of the browser while no page is in front. Nothing is sent anywhere.

const CHOSEN = "contextdash-notify";

const count = () => Number(document.querySelector("#freshness [data-waiting]")?.textContent ?? 0);
let before = count();

// == Title ==

function title() {
  const waiting = count();
  const plain = document.title.replace(/^\(\d+\) /, "");
  const wanted = waiting ? `(${waiting}) ${plain}` : plain;
  if (document.title !== wanted) document.title = wanted;
}

document.addEventListener("live:swapped", () => {
  title(); // a page may just have set its own
  const waiting = count();
  if (waiting > before) notify(waiting);
  before = waiting;
});

// == Notification ==

const button = document.querySelector("[data-notify]");
const chosen = () => localStorage.getItem(CHOSEN) === "on" && Notification.permission === "granted";

function notify(waiting) {
  if (!button || !document.hidden || !("Notification" in window) || !chosen()) return;
  const text = waiting === 1 ? "A session waits for you" : `${waiting} sessions wait for you`;
  try {
    // One tag: several open pages and later ones replace it instead of piling up.
    const shown = new Notification(text, { body: "contextdash", tag: "contextdash-waiting" });
    shown.onclick = () => {
      focus();
      location.assign(button.dataset.notify);
    };
  } catch {
    // Browsers of phones have the name and refuse to make one.
  }
}

function draw() {
  button.setAttribute("aria-pressed", chosen() ? "true" : "false");
  button.querySelector("[data-state]").textContent = chosen() ? "on" : "off";
}

async function toggle() {
  if (chosen()) localStorage.removeItem(CHOSEN);
  else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(CHOSEN, "on");
  else {
    const text = "This browser does not allow notifications here; its settings for this site say so.";
    document.dispatchEvent(new CustomEvent("toast", { detail: { text, bad: true } }));
  }
  draw();
}

if (button && "Notification" in window) {
  button.hidden = false;
  button.addEventListener("click", toggle);
  draw();
}
