"""Projects: made by name, renamed, coloured, ordered, archived, deleted; and the order of sessions in one."""

from collections.abc import Mapping, Sequence

from django.db import IntegrityError, transaction
from django.db.models import F, Max
from django.utils.text import slugify

from contextdash import clock, ids
from contextdash.actor import Actor
from contextdash.cleaning import shorten
from contextdash.errors import Conflict, Invalid
from contextdash.fields import text, word
from contextdash.limits import ORDERED_SESSIONS, PLACE_CHARS, REASON_CHARS
from contextdash.rendering.ansi import plain
from contextdash.services.changing import change_row, record
from contextdash.writer import write
from sessions_app.models import Project, Session
from sessions_app.services.places import arrange

SLUG_CHARS = 100
_CHARS = {"name": 200, "color": 20, "root": PLACE_CHARS, "remote": PLACE_CHARS}


@write
def create_project(*, name: str, actor: Actor, slug: str = "", **values: str) -> Project:
    """A new project, the last in the order; without a slug one is made of its name.

    ``values``: color, root, remote.

    Raises:
        Invalid: no name, or a value is too long.
        Conflict: the slug is taken.
    """
    name = _word(name, "name")
    slug = slug_of(slug or name)
    if Project.objects.filter(slug=slug).exists():
        raise Conflict(f"There is a project {slug} already. Name another slug.")
    checked = {field: _word(value, field) for field, value in values.items()}
    try:
        with transaction.atomic():
            return Project.objects.create(
                name=name, slug=slug, created_at=clock.now(), position=last_position() + 1, **checked
            )
    except IntegrityError:  # PostgreSQL: somebody else made it at this very moment
        raise Conflict(f"There is a project {slug} already. Name another slug.") from None


@write
def change_project(
    *,
    project: Project,
    values: Mapping[str, object],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> Project:
    """Set name, color, root, remote, archived (a flag) or position. The slug stays, since addresses hold it.

    ``position`` is the place among all projects, from 0; the others make room, and no gap is left.

    Raises:
        Invalid: another field is named, or a value is not acceptable.
        Stale: somebody changed it in the meantime.
    """
    checked: dict[str, object] = {}
    for field, value in values.items():
        if field == "archived":
            # Archiving twice keeps the first time.
            if bool(value) != (project.archived_at is not None):
                checked["archived_at"] = clock.now() if value else None
        elif field in _CHARS:
            told = None if value is None else str(value)
            checked[field] = _word(told, field)
        elif field != "position":
            raise Invalid(f"{field} of a project cannot be changed.", field=field)
    if "position" in values:
        checked["position"] = _moved(project, int(str(values["position"])))
    return change_row(project, values=checked, actor=actor, reason=reason, expected_version=expected_version)


@write
def order_projects(*, projects: Sequence[Project], actor: Actor) -> None:
    """These first, in this order; then the others as they were."""
    named = list(dict.fromkeys(project.pk for project in projects))
    rest = [key for key in _order() if key not in named]
    _renumber([*named, *rest])


@write
def order_sessions(*, project: Project, sessions: Sequence[Session], actor: Actor, reason: str = "") -> None:
    """Of the project's sessions these first, in this order; then the others as they were.

    A session that is in no project joins; one of another project is never taken.

    Raises:
        Conflict: a session is in another project, or was deleted.
        Invalid: a subagent's session is named, or more than ORDERED_SESSIONS.
    """
    if len(sessions) > ORDERED_SESSIONS:
        raise Invalid(f"Name at most {ORDERED_SESSIONS} sessions (ORDERED_SESSIONS).", field="sessions")
    held = Project.objects.select_for_update().get(pk=project.pk)
    wanted = list(dict.fromkeys(session.key for session in sessions))
    known = {row.key: row for row in Session.objects.select_for_update().filter(key__in=wanted)}
    for key in wanted:
        _check_member(known[key], held)
    for key in wanted:
        if known[key].project_id is None:
            change_row(
                known[key],
                values={"project": held},
                actor=actor,
                reason=reason,
                version_field="metadata_version",
            )
    arrange(held, wanted)
    told = shorten(", ".join(known[key].id for key in wanted), REASON_CHARS)
    record(noun="projects", row_id=held.pk, field="order", old=None, new=told, actor=actor, reason=reason)
    Session.objects.filter(key__in=wanted).update(ordinal=F("ordinal") + 1)


@write
def delete_project(
    *, project: Project, actor: Actor, reason: str, expected_version: int | None = None
) -> None:
    """Delete a project. Its sessions, decisions, mistakes, findings and stories stay, in no project.

    What was spent in it stays in the sums of its days.

    Raises:
        Invalid: no reason.
        Stale: it is not at ``expected_version`` any more.
    """
    why = text(reason, "reason")
    change_row(
        project,
        values={},
        actor=actor,
        reason=why,
        expected_version=expected_version,
        elsewhere={"deleted": ("", project.name)},
    )
    Session.objects.filter(project=project).update(project=None, ordinal=F("ordinal") + 1)
    Project.objects.filter(pk=project.pk).delete()
    _renumber(_order())


def last_position() -> int:
    """Of the projects; -1 before the first."""
    found = Project.objects.aggregate(last=Max("position"))["last"]
    return -1 if found is None else found


def slug_of(name: str) -> str:
    """The address form of a name; a name without a letter that fits gets a digest."""
    return slugify(name)[:SLUG_CHARS].strip("-") or f"project-{ids.digest16(name.encode()).hex()[:8]}"


def _moved(project: Project, position: int) -> int:
    """Make room for the project at that place; where it really is then."""
    order = [key for key in _order() if key != project.pk]
    place = min(max(position, 0), len(order))
    order.insert(place, project.pk)
    # The project itself is moved by who asked, with a line of history.
    _renumber(order, leaving=project.pk)
    return place


def _order() -> list[int]:
    return list(Project.objects.select_for_update().order_by("position", "pk").values_list("pk", flat=True))


def _renumber(order: Sequence[int], leaving: int | None = None) -> None:
    known = Project.objects.in_bulk(list(order))
    moved = []
    for position, key in enumerate(order):
        row = known[key]
        if row.position != position and key != leaving:
            row.position = position
            moved.append(row)
    Project.objects.bulk_update(moved, ["position"])


def _check_member(session: Session, project: Project) -> None:
    if session.deleted_at is not None:
        raise Conflict(f"Session {session.id} was deleted.", field="sessions", code="deleted_session")
    if session.parent_id is not None:
        raise Invalid(f"{session.id} is a subagent's: it goes with its parent.", field="sessions")
    if session.project_id not in (None, project.pk):
        raise Conflict(
            f"Session {session.id} is in another project. Take it out of there first.",
            field="sessions",
            code="other_project",
        )


def _word(told: str | None, field: str) -> str:
    """A value of ``_CHARS``. A name stands on every page, so it keeps nothing that moves a terminal."""
    shown = plain(told) if told and field == "name" else told
    return word(shown, field, chars=_CHARS[field], required=field == "name")
