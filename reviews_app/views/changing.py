"""Findings are resolved, dismissed, reopened; the gate is asked."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html

from contextdash import clock
from contextdash.errors import Invalid, NotFound
from contextdash.limits import BODY_BYTES
from contextdash.viewkit import actor_of, changes, next_address, whole_number
from reviews_app.models import Resolution
from reviews_app.queries import findings
from reviews_app.queries.diffs import Answer
from reviews_app.services.gate import Asked, ask_gate, asked_by_diff, asked_by_hash, window_of
from reviews_app.services.reviews import set_resolution, set_resolution_of_many


@changes
def set_state(request: HttpRequest, review_id: int) -> HttpResponse:
    review = findings.finding(review_id) if review_id < 2**63 else None
    if review is None:
        raise NotFound(f"There is no finding R-{review_id}.")
    set_resolution(
        review=review,
        to=request.POST.get("to", ""),
        actor=actor_of(request),
        reason=request.POST.get("reason", ""),
        expected_version=whole_number(request.POST.get("version", "")),
    )
    _tell(request, [review.pk], review.resolution)
    return redirect(_back(request))


@changes
def set_state_of_many(request: HttpRequest) -> HttpResponse:
    # The button "Undo" sends its findings as one value, the list one value for each box.
    ids = [part for value in request.POST.getlist("ids") for part in value.split(",")]
    to = request.POST.get("to", "")
    outcome = set_resolution_of_many(
        ids=[number for part in ids if (number := whole_number(part)) is not None],
        to=to,
        actor=actor_of(request),
        reason=request.POST.get("reason", ""),
    )
    if outcome.changed:
        _tell(request, [review.pk for review in outcome.changed], to)
    if outcome.refused:
        names = ", ".join(f"R-{pk}" for pk, _ in outcome.refused[:5])
        more = f" and {len(outcome.refused) - 5} more" if len(outcome.refused) > 5 else ""
        messages.error(request, f"Not changed: {names}{more}. {outcome.refused[0][1].detail}")
    return redirect(_back(request))


@changes
def ask(request: HttpRequest) -> HttpResponse:
    """Ask the gate about a hash, a pasted diff or a file; the answer has an address."""
    query = request.GET.copy()
    query.pop("skip", None)
    try:
        window = window_of(request.POST.get("window"))
        verdict = ask_gate(asked=_asked(request), window=window, actor=actor_of(request))
    except Invalid:
        # The page says what is wrong with it, beside the box that still holds it.
        query["gate"] = request.POST.get("diff_hash", "")[:200]
    else:
        query["gate"] = verdict.key
        query["window"] = clock.window_text(window)
        if verdict.answer == Answer.SKIPPED:
            query["skip"] = verdict.skip
    return redirect(f"{reverse('reviews')}?{query.urlencode()}")


def _asked(request: HttpRequest) -> Asked:
    file = request.FILES.get("file")
    if file is not None:
        if file.size is None or file.size > BODY_BYTES:
            raise Invalid(f"The file is larger than {BODY_BYTES} bytes (BODY_BYTES).", field="file")
        return asked_by_diff(file.read())
    pasted = request.POST.get("diff", "")
    if pasted.strip():
        # A form sends CRLF for every line end, and pasting loses the last one; git writes LF.
        text = pasted.replace("\r\n", "\n")
        return asked_by_diff((text if text.endswith("\n") else text + "\n").encode("utf-8", "replace"))
    return asked_by_hash(request.POST.get("diff_hash", ""))


def _tell(request: HttpRequest, ids: Sequence[int], to: str) -> None:
    what = f"R-{ids[0]}" if len(ids) == 1 else f"{len(ids)} findings"
    text = f"{what} {to}"
    if to == Resolution.REOPENED or not _back(request).startswith(reverse("reviews")):
        messages.success(request, text)
        return
    # The page of findings has the form that this button belongs to.
    undo = '{} <button class="btn btn--quiet" type="submit" form="undo" name="ids" value="{}">Undo</button>'
    messages.success(request, format_html(undo, text, ",".join(str(pk) for pk in ids)))


def _back(request: HttpRequest) -> str:
    return next_address(request, otherwise=reverse("reviews"))
