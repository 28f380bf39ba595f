// The panels of a session: filters that apply at once, a link to one row that opens it.

for (const form of document.querySelectorAll("form[data-submit-on-change]")) {
  form.addEventListener("change", () => form.requestSubmit());
}

function openTarget() {
  const row = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const details = row && row.querySelector(":scope > details");
  if (details) details.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
