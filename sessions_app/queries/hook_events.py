"""What hook scripts and the gate reported."""

from django.db.models import Q, QuerySet

from contextdash.errors import NotFound
from contextdash.paging import Page, page
from sessions_app.models import HookEvent


def hook_event_page(
    *,
    session_id: str | None,
    project: str | None,
    hook: str | None,
    event_type: str | None,
    outcome: str | None,
    limit: int,
    cursor: str | None = None,
) -> Page[HookEvent]:
    """Newest first; the payload is not read."""
    rows: QuerySet[HookEvent] = _kept()
    if session_id is not None:
        rows = rows.filter(session_id=session_id)
    if project:
        rows = rows.filter(session__project__slug=project)
    if hook:
        rows = rows.filter(hook_name=hook)
    if event_type:
        rows = rows.filter(event_type=event_type)
    if outcome:
        rows = rows.filter(outcome=outcome)
    return page(rows.defer("payload_json"), limit=limit, cursor=cursor)


def hook_event(event_id: int) -> HookEvent:
    """Raises NotFound for one that is not there."""
    found = _kept().filter(pk=event_id).first()
    if found is None:
        raise NotFound(f"There is no hook event {event_id}.")
    return found


def _kept() -> QuerySet[HookEvent]:
    return HookEvent.objects.filter(Q(session=None) | Q(session__deleted_at=None))
