"""Lines of writers' logs."""

from contextdash.paging import Page, page
from sessions_app.models import LogEntry, Session
from sessions_app.vocabulary import LogLevel


def log_page(
    *, session: Session | None, level: str, event: str, run: int | None, limit: int, cursor: str | None
) -> Page[LogEntry]:
    """Newest first; ``level`` is the lowest that is wanted, a word of nobody's vocabulary that word alone."""
    rows = LogEntry.objects.select_related("session")
    if session is not None:
        rows = rows.filter(session=session)
    if run is not None:
        rows = rows.filter(run=run)
    if level:
        rows = rows.filter(level__in=at_least(level))
    if event:
        rows = rows.filter(event=event.lstrip(":"))
    return page(rows, limit=limit, cursor=cursor, time_field="at_us", id_field="key")


def at_least(level: str) -> list[str]:
    """The level and those above it."""
    known = list(LogLevel.values)
    return known[known.index(level) :] if level in known else [level]
