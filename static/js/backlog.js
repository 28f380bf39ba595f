// The backlog list: ticks stay when the list is drawn anew, and are counted; deleting many asks first.

const form = document.getElementById("bulk-form");
const ticks = () => [...form.querySelectorAll('input[name="story"]')];

function count() {
  const ticked = ticks().filter((one) => one.checked).length;
  for (const place of form.querySelectorAll("[data-ticked]")) place.textContent = ticked ? `${ticked} ticked` : "";
}

document.addEventListener("live:before", ({ detail: { news } }) => {
  for (const one of ticks()) {
    const twin = news.querySelector(`#${CSS.escape(one.id)}`);
    if (twin) twin.checked = one.checked;
  }
});
document.addEventListener("live:swapped", count);
form.addEventListener("change", count);
form.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});
count();
