// Rows that are dragged into another order. Everything here has a way without it: the buttons of each row.

const csrf = document.querySelector('meta[name="csrf-token"]').content;

function tell(text) {
  document.dispatchEvent(new CustomEvent("toast", { detail: { text, bad: true } }));
}

async function keep(list) {
  const body = new URLSearchParams({ bare: "1" });
  for (const row of list.querySelectorAll("[data-key]")) body.append("order", row.dataset.key);
  try {
    const answer = await fetch(list.dataset.order, {
      method: "POST",
      body,
      headers: { "X-CSRFToken": csrf, "HX-Request": "true" },
      credentials: "same-origin",
    });
    if (!answer.ok) tell((await answer.text()).slice(0, 300) || `The server answered ${answer.status}.`);
  } catch {
    tell("The server did not answer. The order was not kept.");
  }
  ends(list);
}

// The first row has no way up, the last none down.
function ends(list) {
  const rows = [...list.querySelectorAll("[data-key]")];
  for (const [at, row] of rows.entries()) {
    const [up, down] = row.querySelectorAll(".moves button");
    if (up) up.disabled = at === 0;
    if (down) down.disabled = at === rows.length - 1;
  }
}

for (const list of document.querySelectorAll("[data-order]")) {
  window.Sortable?.create(list, {
    draggable: "[data-key]",
    filter: "a, button, input",
    preventOnFilter: false,
    animation: 0,
    onEnd: () => keep(list),
  });
}
