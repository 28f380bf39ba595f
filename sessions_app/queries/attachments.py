"""Files of sessions as they are listed and read. Lists never read bytes."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F

from contextdash import sniffing
from contextdash.errors import NotFound
from contextdash.paging import Page, page
from sessions_app.models import Attachment, Session
from sessions_app.vocabulary import Audience

FILES = 300
"""How many files the panel of a session shows."""
COUNTED = 1000


@dataclass(frozen=True, slots=True)
class Shown:
    """A file of a name, in its newest version; ``earlier`` are those before, newest first."""

    file: Attachment
    earlier: Sequence[Attachment]

    @property
    def is_image(self) -> bool:
        return is_image(self.file)

    @property
    def by_tool(self) -> bool:
        return self.file.iteration_id is not None or bool(self.file.call_id)


def attachment_page(
    *, session: Session | None, turn: int | None, everyone: bool, limit: int, cursor: str | None
) -> Page[Attachment]:
    """Newest first; those for the model alone only where ``everyone`` asks for them."""
    rows = Attachment.objects.filter(session__deleted_at=None).select_related("session", "turn")
    if session is not None:
        rows = rows.filter(session=session)
    if turn is not None:
        rows = rows.filter(turn=turn)
    if not everyone:
        rows = rows.exclude(audience=Audience.MODEL)
    return page(rows, limit=limit, cursor=cursor, time_field="created_us", id_field="id")


def files_of(session: Session, *, everyone: bool = False) -> list[Shown]:
    """By turn, those of the request before those of tools; of one name the newest with the earlier ones."""
    rows = Attachment.objects.filter(session=session).select_related("turn")
    if not everyone:
        rows = rows.exclude(audience=Audience.MODEL)
    ordered = rows.order_by(
        F("turn__number").asc(nulls_first=True),
        F("iteration").asc(nulls_first=True),
        "call_id",
        "position",
        "id",
    )
    shown: list[Shown] = []
    by_name: dict[str, list[Attachment]] = {}
    for row in ordered[:FILES]:
        if row.filename:
            by_name.setdefault(row.filename, []).append(row)
        else:
            shown.append(Shown(row, ()))
    for versions in by_name.values():
        newest, *earlier = sorted(versions, key=lambda row: -row.version)
        shown.append(Shown(newest, earlier))
    return sorted(shown, key=lambda one: (one.file.turn.number if one.file.turn else 0, one.file.pk))


def seen_count(session: Session) -> int:
    """How many files people are shown, earlier versions too; beyond COUNTED it says COUNTED."""
    rows = Attachment.objects.filter(session=session).exclude(audience=Audience.MODEL)
    return rows.order_by()[:COUNTED].count()


def hidden_count(session: Session) -> int:
    """How many files are for the model alone."""
    return Attachment.objects.filter(session=session, audience=Audience.MODEL).count()


def attachment(key: int) -> Attachment:
    """
    Raises:
        NotFound: there is none, or its session was deleted.
    """
    rows = Attachment.objects.select_related("session", "turn").filter(session__deleted_at=None)
    found = rows.filter(pk=key).first()
    if found is None:
        raise NotFound(f"There is no attachment {key}.")
    return found


def bytes_of(row: Attachment) -> bytes:
    """
    Raises:
        NotFound: they are somewhere else, or were erased.
    """
    if row.content is None:
        where = "were erased" if row.erased else "are not here: storage_uri says where its writer has them"
        raise NotFound(f"Its bytes {where}.")
    return bytes(row.content.data)


def is_image(row: Attachment) -> bool:
    """Whether a page shows it as a picture."""
    return row.content_id is not None and row.media_type in sniffing.IMAGES
