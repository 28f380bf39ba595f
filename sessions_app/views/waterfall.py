"""When each agent of a session worked, on one axis of time that can be zoomed."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.clock import from_us
from contextdash.viewkit import wants_fragment, whole_number
from sessions_app.models import Session
from sessions_app.queries import waterfall as queries
from sessions_app.queries.session import Family, family_of, find_session, session_version
from sessions_app.queries.waterfall import SHORTEST_US, Stretch
from sessions_app.views import waterfall_drawing as drawing
from sessions_app.views.session import head_context, to_session

TURNS_NEAR = 2


@dataclass(frozen=True, slots=True)
class Zoom:
    """One of the controls; without an address it leads nowhere."""

    title: str
    icon: str
    key: str
    url: str | None


@require_GET
def waterfall(request: HttpRequest, session_id: str) -> HttpResponse:
    """``from`` and ``to`` (µs) or ``turn`` say which stretch; ``part=overview`` is the strip alone."""
    version = session_version(session_id)
    if version is None:
        return to_session(request, session_id, "waterfall/")
    if (same := live.unchanged(request, version)) is not None:
        return same
    found = find_session(session_id)
    family = family_of(found)
    whole = queries.whole_of(family)
    query = request.GET
    turn = whole_number(query.get("turn", ""))
    if turn:
        shown = queries.stretch_of_turn(found, whole, turn)
    else:
        shown = queries.stretch_of(
            whole, whole_number(query.get("from", "")), whole_number(query.get("to", ""))
        )
    context = {"session": found, "strip": _strip(family, whole, shown), "whole": whole, "shown": shown}
    if wants_fragment(request) and query.get("part") == "overview":
        return render(request, "sessions/waterfall/_strip.html", context)
    context |= _chart(family, whole, shown, turn)
    if not wants_fragment(request):
        context |= head_context(found, "waterfall")
    return live.respond(request, "sessions/waterfall.html", context, version=version, fragment="chart")


def _strip(family: Family, whole: Stretch, shown: Stretch) -> Any:
    return drawing.overview(queries.overview(family, whole), whole, shown)


def _chart(family: Family, whole: Stretch, shown: Stretch, turn: int | None) -> dict[str, Any]:
    home = reverse("session_waterfall", args=[family.root.id])
    picture = queries.picture(family, whole, shown)
    begins = timezone.localdate(from_us(shown.start_us))
    return {
        "home": home,
        "day": None if begins == timezone.localdate() else begins,
        "nothing": not any(lane.spans or lane.model or lane.calls for lane in picture.lanes),
        "drawn": drawing.draw(family, picture, lambda start, end: f"?from={start}&to={end}"),
        "zooms": _zooms(home, whole, shown),
        "turns": _turns(family.root, turn),
        "turn": turn,
    }


def _turns(session: Session, current: int | None) -> list[int]:
    """Turns that can be gone to with one click: those around the shown one, else the newest."""
    last = session.turn_count
    middle = current or last
    first = max(1, min(middle - TURNS_NEAR, last - 2 * TURNS_NEAR))
    return list(range(first, min(last, first + 2 * TURNS_NEAR) + 1))


def _zooms(home: str, whole: Stretch, shown: Stretch) -> list[Zoom]:
    quarter, half = shown.length_us // 4, shown.length_us // 2
    all_shown = shown == whole

    def to(start: int, end: int) -> str:
        start, end = max(whole.start_us, start), min(whole.end_us, end)
        return f"{home}?{urlencode({'from': start, 'to': end})}"

    closer = shown.length_us > 4 * SHORTEST_US
    earlier, later = shown.start_us > whole.start_us, shown.end_us < whole.end_us
    back = min(half, shown.start_us - whole.start_us)
    on = min(half, whole.end_us - shown.end_us)
    return [
        Zoom(
            "Earlier",
            "prev",
            "ArrowLeft",
            to(shown.start_us - back, shown.end_us - back) if earlier else None,
        ),
        Zoom("Later", "next", "ArrowRight", to(shown.start_us + on, shown.end_us + on) if later else None),
        Zoom("Closer", "plus", "+", to(shown.start_us + quarter, shown.end_us - quarter) if closer else None),
        Zoom("Wider", "minus", "-", None if all_shown else to(shown.start_us - half, shown.end_us + half)),
        Zoom("Whole session", "", "0", None if all_shown else home),
    ]
