"""The stand-up: the last 24 hours, or any range, by agent and person."""

from datetime import datetime, timedelta

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from contextdash import clock, live
from contextdash.errors import Invalid
from contextdash.pages.standup_read import NOW_WITHIN, Standup, standup
from contextdash.pages.standup_text import as_markdown, heading
from contextdash.pages.today import shown_version

LONGEST = timedelta(days=31)
WINDOWS = {"24h": "24 hours", "72h": "3 days", "7d": "7 days", "14d": "14 days"}


@require_GET
def standup_page(request: HttpRequest) -> HttpResponse:
    """``window`` (``24h``), or ``from`` and ``to`` in the reader's zone."""
    version = shown_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    told = _told(request)
    given = any(request.GET.get(name) for name in ("from", "to"))
    window = "" if given else request.GET.get("window") or "24h"
    context = {
        "nav": "standup",
        "told": told,
        "heading": heading(told),
        "markdown": as_markdown(told, site_of(request)),
        "windows": [(value, words, value == window) for value, words in WINDOWS.items()],
        "chosen": given,
        "local_begin": timezone.localtime(told.begin),
        "local_end": timezone.localtime(told.end),
        "query": request.GET.urlencode(),
    }
    return live.respond(request, "pages/standup.html", context, version=version, fragment="live")


@require_GET
def standup_file(request: HttpRequest) -> HttpResponse:
    """The same as Markdown."""
    text = as_markdown(_told(request), site_of(request))
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")


def time_range(window: str, begin: str, end: str) -> tuple[datetime, datetime]:
    """From ``begin`` to ``end``, or the ``window`` before the end; a time without a zone is the reader's.

    Raises:
        Invalid: one of them is no time or no window, or the range is empty or longer than LONGEST.
    """
    to = _moment(end, "to") if end else clock.now()
    if begin:
        since = _moment(begin, "from")
    else:
        length = clock.parse_window(window or "24h")
        if length is None:
            raise Invalid("window is a length of time such as 24h or 7d.", field="window")
        since = to - min(length, LONGEST + NOW_WITHIN)
    if not timedelta() < to - since <= LONGEST:
        raise Invalid(
            f"A stand-up covers at most {LONGEST.days} days, and ends after it begins.", field="from"
        )
    return since, to


def site_of(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")


def _told(request: HttpRequest) -> Standup:
    query = request.GET
    begin, end = time_range(query.get("window", ""), query.get("from", ""), query.get("to", ""))
    return standup(begin=begin, end=end, project=query.get("project", "").strip()[:100] or None)


def _moment(text: str, field: str) -> datetime:
    refused = Invalid(f"{field} is a time such as 2026-11-30 or 2026-11-30T09:00.", field=field)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise refused from None
    if not 1990 <= moment.year <= 9000:  # far enough from both ends for every zone
        raise refused
    return moment if moment.tzinfo else timezone.make_aware(moment)
