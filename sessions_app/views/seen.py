"""What a reader has had on the screen: told by open pages, shown as a line in the timeline.

Viewers may do this as well: it is their own.
"""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from contextdash.errors import Invalid
from contextdash.viewkit import person_of, whole_number
from sessions_app.queries.session import find_session
from sessions_app.registry import Row
from sessions_app.services import seen as service

ROWS = 200
"""The most rows that one post tells of."""


@require_POST
def see_timeline(request: HttpRequest, session_id: str) -> HttpResponse:
    """``up_to``: the moment of the newest row that was on the screen, in microseconds."""
    service.see_timeline(
        user=person_of(request),
        session=find_session(session_id),
        up_to_us=_moment(request.POST.get("up_to", "")),
    )
    return HttpResponse(status=204)


@require_POST
def see_rows(request: HttpRequest) -> HttpResponse:
    """``row``, repeated: ``<key>.<last event in microseconds>``."""
    rows = {}
    for text in request.POST.getlist("row")[:ROWS]:
        key, _, last = text.partition(".")
        rows[_moment(key)] = _moment(last)
    service.see_rows(user=person_of(request), last_us=rows)
    return HttpResponse(status=204)


def first_unseen(rows: Sequence[Row], seen_us: int | None) -> int | None:
    """The place of the first of these rows that the reader has not seen; None where there is none."""
    if seen_us is None:
        return None
    return next((place for place, row in enumerate(rows) if row.at_us > seen_us), None)


def _moment(text: str) -> int:
    number = whole_number(text)
    if number is None:
        raise Invalid("Tell moments in microseconds and sessions by their number.")
    return number
