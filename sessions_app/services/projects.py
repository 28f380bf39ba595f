"""Projects: made by name, renamed, coloured, ordered."""

from collections.abc import Mapping

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from contextdash import clock, ids
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid
from contextdash.fields import word
from contextdash.limits import PLACE_CHARS
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import Project

SLUG_CHARS = 100
_CHARS = {"name": 200, "color": 20, "root": PLACE_CHARS, "remote": PLACE_CHARS}


@write
def create_project(*, name: str, actor: Actor, slug: str = "", **values: str) -> Project:
    """A new project; without a slug one is made of its name. ``values``: color, root, remote.

    Raises:
        Invalid: no name, or a value is too long.
        Conflict: the slug is taken.
    """
    name = word(name, "name", chars=_CHARS["name"])
    slug = slug_of(slug or name)
    if Project.objects.filter(slug=slug).exists():
        raise Conflict(f"There is a project {slug} already. Name another slug.")
    checked = {
        field: word(value, field, chars=_CHARS[field], required=False) for field, value in values.items()
    }
    try:
        with transaction.atomic():
            return Project.objects.create(name=name, slug=slug, created_at=clock.now(), **checked)
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
    """Set name, color, root, remote or position. The slug stays, since addresses hold it.

    Raises:
        Invalid: another field is named, or a value is not acceptable.
        Stale: somebody changed it in the meantime.
    """
    checked: dict[str, object] = {}
    for field, value in values.items():
        if field == "position":
            checked[field] = value
        elif field in _CHARS:
            told = None if value is None else str(value)
            checked[field] = word(told, field, chars=_CHARS[field], required=field == "name")
        else:
            raise Invalid(f"{field} of a project cannot be changed.", field=field)
    return change_row(project, values=checked, actor=actor, reason=reason, expected_version=expected_version)


def slug_of(name: str) -> str:
    """The address form of a name; a name without a letter that fits gets a digest."""
    return slugify(name)[:SLUG_CHARS].strip("-") or f"project-{ids.digest16(name.encode()).hex()[:8]}"
