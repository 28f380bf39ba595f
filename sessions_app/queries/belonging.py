"""The filters that every list of written rows has: session and project."""

from django.db.models import Q

from contextdash import ids
from contextdash.prepared import Given


def belongs(session: str | None, project: str | Given | None) -> Q:
    """Rows of a session (by the id its client sent) and of a project (by slug); None for any."""
    wanted = Q()
    if session:
        wanted &= Q(session_id=ids.session_id(session)[0])
    if project:
        wanted &= Q(project__slug=project)
    return wanted
