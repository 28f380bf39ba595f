"""Spawns of subagents by their parents."""

from contextdash.paging import Page, page
from sessions_app.models import SubagentSpawn


def spawn_page(*, parent: str | None, limit: int, cursor: str | None) -> Page[SubagentSpawn]:
    """Newest first; of one parent's id or of all."""
    rows = SubagentSpawn.objects.all()
    if parent:
        rows = rows.filter(parent_session_id=parent)
    return page(rows, limit=limit, cursor=cursor, time_field="claimed_us")
