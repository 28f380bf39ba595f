// A session's timeline: filters that apply at once, and a pill for rows that came below the screen.

for (const form of document.querySelectorAll("form[data-submit-on-change]")) {
  form.querySelector("button[type=submit]").hidden = true;
  form.addEventListener("change", () => form.requestSubmit());
}

const pill = document.getElementById("below");
const end = document.getElementById("end");
let seen = document.querySelectorAll("#live [data-row]").length;
let atEnd = true;

new IntersectionObserver(([entry]) => {
  atEnd = entry.isIntersecting;
  if (atEnd) show();
}).observe(end);

function show() {
  const rows = document.querySelectorAll("#live [data-row]").length;
  if (atEnd) seen = rows;
  const count = rows - seen;
  if (!pill) return;
  pill.hidden = count <= 0;
  pill.querySelector("[data-text]").textContent = `${count} new ${count === 1 ? "row" : "rows"} below`;
}

document.addEventListener("live:swapped", show);

// A link to one row opens it.
function openTarget() {
  const row = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = row && row.parentElement.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
    row.scrollIntoView();
  }
  const details = row && row.querySelector(":scope > details");
  if (details) details.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
