"""Workspace epochs with their versions and heads."""

from contextdash.errors import NotFound
from contextdash.paging import Page, page
from sessions_app.models import WorkspaceEpoch


def epoch_page(*, workspace: str | None, limit: int, cursor: str | None) -> Page[WorkspaceEpoch]:
    """Newest first."""
    rows = WorkspaceEpoch.objects.select_related("head__version").prefetch_related("versions")
    if workspace:
        rows = rows.filter(workspace_id=workspace)
    return page(rows, limit=limit, cursor=cursor, time_field="committed_us")


def epoch(epoch_id: str) -> WorkspaceEpoch:
    """Raises NotFound for one that is not there."""
    rows = WorkspaceEpoch.objects.select_related("head__version").prefetch_related("versions")
    found = rows.filter(workspace_epoch_id=epoch_id).first()
    if found is None:
        raise NotFound(f"There is no epoch {epoch_id[:200]}.")
    return found
