"""Where a session works: its workspace and project, found or made at its first sight."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from django.db import IntegrityError

from contextdash import clock
from contextdash.cleaning import one_line
from contextdash.limits import HOST_CHARS, PLACE_CHARS
from contextdash.rendering.ansi import plain
from sessions_app.ingest.observation import Observation
from sessions_app.models import Project, Workspace
from sessions_app.services.projects import SLUG_CHARS, last_position, slug_of

_WORKTREE = re.compile(r"(.+?)[\\/]\.claude[\\/]worktrees[\\/].+")
_SCP_LIKE = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")


class Place(NamedTuple):
    host: str
    root: str
    workspace_id: int | None
    project_id: int | None


def place_of(seen: Observation) -> Place:
    """The place that a delivery names; without a folder it is nowhere. Call it inside a write."""
    host = seen.delivery.host[:HOST_CHARS]
    root = _folder(seen.delivery.root or seen.cwd)
    remote = remote_key(seen.delivery.remote)
    if not root:
        return Place(host, "", None, None)
    workspace = Workspace.objects.filter(host=host, root=root).first()
    if workspace is None:
        project = _project(root, remote)
        workspace = Workspace.objects.create(
            host=host, root=root, remote=remote, project=project, created_at=clock.now()
        )
    elif remote and not workspace.remote:
        # Its sessions so far were seen without their remote, so its project may be another one's.
        workspace.remote, workspace.project = remote, _project(root, remote)
        workspace.save(update_fields=["remote", "project"])
    return Place(host, root, workspace.pk, workspace.project_id)


def remote_key(remote: str) -> str:
    """A remote's address without scheme, credentials and ``.git``, the same however it was cloned."""
    remote = remote.strip()
    if "://" in remote:
        try:
            parts = urlsplit(remote)
            remote = f"{parts.hostname or ''}{parts.path}"
        except ValueError:
            remote = remote.partition("://")[2].rpartition("@")[2]
    elif found := _SCP_LIKE.fullmatch(remote):
        remote = f"{found[1].lower()}/{found[2].lstrip('/')}"
    return remote.rstrip("/").removesuffix(".git")[:PLACE_CHARS]


def _folder(path: str) -> str:
    path = path.strip()[:PLACE_CHARS]
    return path if len(path) <= 3 else path.rstrip("/\\")


def _project(root: str, remote: str) -> Project:
    worktree = _WORKTREE.fullmatch(root)
    root = worktree[1] if worktree else root
    found = Project.objects.filter(remote=remote).first() if remote else None
    if found is None:
        found = Project.objects.filter(root=root).first()
        if found is not None and remote and found.remote not in ("", remote):
            found = None  # another repository has taken this folder
        elif found is not None and remote and not found.remote:
            found.remote = remote
            found.save(update_fields=["remote"])
    return found or _new_project(root, remote)


def _new_project(root: str, remote: str) -> Project:
    told = re.split(r"[\\/]", remote or root)[-1]
    name = one_line(plain(told), 200) or one_line(plain(root), 200) or "project"
    slug = slug_of(name)
    taken = set(
        Project.objects.filter(slug__startswith=slug[: SLUG_CHARS - 6]).values_list("slug", flat=True)
    )
    number, free = 1, slug
    while free in taken:
        number += 1
        free = f"{slug[: SLUG_CHARS - 6]}-{number}"
    if number > 99_999:  # five digits fit the column; nobody has so many of one name
        raise IntegrityError("no free slug")
    return Project.objects.create(
        name=name,
        slug=free,
        root=root,
        remote=remote,
        position=last_position() + 1,
        created_at=clock.now(),
    )
