"""Where a written row belongs: its session, its project, its moment."""

from datetime import datetime

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Invalid
from sessions_app.models import Project, Session
from sessions_app.services.sessions import named_session


def owning_session(session: Session | str | None, *, actor: Actor) -> Session | None:
    """The session itself, or the one of that id, made when it is unknown. Call it inside a write.

    Raises:
        Conflict: it was deleted.
        Invalid: the id is empty.
    """
    if session is None or isinstance(session, Session):
        return session
    return named_session(session_id=session, actor=actor)


def owning_project_id(project: Project | None, session: Session | None) -> int | None:
    """The named project, else the session's."""
    if project is not None:
        return project.pk
    return None if session is None else session.project_id


def project_of_slug(slug: str | None) -> Project | None:
    """The project of that slug; None for none.

    Raises:
        Invalid: there is no such project.
    """
    if not slug:
        return None
    found = Project.objects.filter(slug=slug).first()
    if found is None:
        raise Invalid(f"There is no project {slug!r}.", field="project")
    return found


def own_name(session: Session | None, actor: Actor) -> str:
    """Who wrote, where they named nobody: the session's agent, else whoever called."""
    if session is not None and session.agent_name not in ("", "main"):
        return session.agent_name
    return actor.name


def moment(at: datetime | None) -> datetime:
    """When it happened: now unless told, and never later than now, so that a wrong clock pins no list."""
    now = clock.now()
    return now if at is None else min(at, now)


def told_time(value: object, field: str = "ts") -> datetime | None:
    """A writer's own time.

    Raises:
        Invalid: it is given and not a time.
    """
    if value is None or value == "":
        return None
    parsed = clock.parse_time(value)
    if parsed is None:
        raise Invalid(f"{field} is not a time. Use ISO 8601 or epoch seconds.", field=field)
    return parsed


def told_us(value: object, field: str = "ts") -> int | None:
    """A writer's own time in microseconds since 1970.

    Raises:
        Invalid: it is given and not a time.
    """
    at = told_time(value, field)
    return None if at is None else clock.to_us(at)
