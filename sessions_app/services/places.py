"""The order of sessions in a project.

Sessions that people put somewhere have a place, numbered from 0 without gaps. Those that nobody moved follow,
oldest first: a session that an agent begins needs no row for its place, however many a project has.
"""

from collections.abc import Sequence

from sessions_app.models import Project, ProjectPlace, Session


def order_of(project: Project) -> list[int]:
    """Keys of the project's own sessions (no subagents), in order."""
    rows = Session.objects.filter(project=project, parent=None).values_list("key", flat=True)
    members = list(rows.order_by("key"))
    placed = _placed(project, set(members))
    known = set(placed)
    return [*placed, *(key for key in members if key not in known)]


def arrange(project: Project, first: Sequence[int]) -> None:
    """These first, then the others as they were. Call it with the project's row locked."""
    named = set(first)
    members = set(Session.objects.filter(project=project, parent=None).values_list("key", flat=True))
    rest = [key for key in _placed(project, members) if key not in named]
    if any(key not in members for key in first):
        raise ValueError("a session of another project")
    _store(project, [*first, *rest])


def move(session: Session, project: Project | None) -> None:
    """Say where a session goes that is about to change its project. Call it inside a write.

    It becomes the last of the new one; in the old one those behind it move up.
    """
    if project is None or session.project_id != project.pk:
        leave(session)
    if project is not None and session.project_id != project.pk:
        join(project, session)


def join(project: Project, session: Session) -> None:
    """The session is the project's last from now on. Call it inside a write, before the session is moved."""
    Project.objects.select_for_update().get(pk=project.pk)
    ProjectPlace.objects.filter(session=session).delete()
    if session.parent_id is None:
        # Sessions without a place come after it, so all that were there get theirs.
        _store(project, [*(key for key in order_of(project) if key != session.key), session.key])


def leave(session: Session) -> None:
    """The session has no place any more; those behind it move up. Call it inside a write."""
    place = ProjectPlace.objects.filter(session=session).select_related("project").first()
    if place is None:
        return
    project = Project.objects.select_for_update().get(pk=place.project_id)
    place.delete()
    members = set(Session.objects.filter(project=project, parent=None).values_list("key", flat=True))
    _store(project, [key for key in _placed(project, members) if key != session.key])


def _placed(project: Project, members: set[int]) -> list[int]:
    rows = ProjectPlace.objects.filter(project=project).order_by("position", "session")
    return [key for key in rows.values_list("session_id", flat=True) if key in members]


def _store(project: Project, order: Sequence[int]) -> None:
    known = dict(ProjectPlace.objects.filter(project=project).values_list("session_id", "position"))
    wanted = {key: position for position, key in enumerate(order)}
    ProjectPlace.objects.filter(project=project, session__in=known.keys() - wanted.keys()).delete()
    moved = [key for key, position in wanted.items() if known.get(key) not in (None, position)]
    ProjectPlace.objects.bulk_update(
        [ProjectPlace(session_id=key, project=project, position=wanted[key]) for key in moved], ["position"]
    )
    ProjectPlace.objects.filter(session__in=[key for key in wanted if key not in known]).delete()
    ProjectPlace.objects.bulk_create(
        ProjectPlace(session_id=key, project=project, position=wanted[key])
        for key in order
        if key not in known
    )
