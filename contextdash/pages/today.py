"""Today: what needs a person, who works on what, the day's figures."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from backlog_app.models import BacklogItem
from contextdash import clock, live
from contextdash.pages import arrivals, asks, day
from contextdash.pages.context import shell_of
from contextdash.pages.needs import Needs
from contextdash.prepared import Prepared, newest_id
from reviews_app.queries import tallies
from sessions_app.models import Mistake, Session
from sessions_app.queries import decisions, handoffs, sessions

WORKING_ROWS = 25


@dataclass(frozen=True, slots=True)
class AtWork:
    session: Session
    call: str
    """The tool that it is in, or that it thinks."""
    summary: str


@require_GET
def today(request: HttpRequest) -> HttpResponse:
    version = shown_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    project = request.GET.get("project", "").strip()[:100] or None
    needs = shell_of(request).needs
    rows = asks.asks(needs, project)
    context: dict[str, Any] = {
        "nav": "today",
        "today": timezone.localtime(clock.now()),
        "asks": rows,
        "oldest": min((ask.at for ask in rows), default=None),
        "needs": needs.count,
        "working": _working(needs),
        "at_work": needs.sessions,
        "figures": day.figures(project, needs.hooks),
        "chart": day.chart(),
        "sprint": day.sprint_now(project),
        "decided": day.decided(project),
        "learned": day.learned(project),
        "health": arrivals.health(arrivals.SHORT_WINDOW),
        "empty": not sessions.any_session(),
    }
    return live.respond(request, "pages/today.html", context, version=version, fragment="live")


def _working(needs: Needs) -> list[AtWork]:
    """Newest first."""
    rows = needs.working.select_related("project").defer("user_request", "extra")
    return [_at_work(session) for session in rows.order_by("-last_us", "-key")[:WORKING_ROWS]]


def _at_work(session: Session) -> AtWork:
    name, _, summary = session.current_call.partition(" ")
    return AtWork(session, name or "Thinking", summary or session.model)


_NEWEST_STORY = Prepared(
    lambda: BacklogItem.objects.order_by("-changed_at", "-id").values_list("changed_at", "id")[:1]
)


def shown_version() -> str:
    """Changes with whatever the page shows, and every minute."""
    story = _NEWEST_STORY.one()
    moved = f"{clock.to_us(story[0])}.{story[1]}" if story else "0"
    return "-".join(
        (
            sessions.list_version(),
            handoffs.inbox_version(),
            decisions.log_version(),
            tallies.version(),
            arrivals.health_version(),
            str(newest_id(Mistake)),
            moved,
        )
    )
