"""Files of sessions: taken in, recognised by their bytes, numbered by name, erased with a purge."""

import hashlib
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import F, Max, Q

from contextdash import clock, ids, sniffing
from contextdash.actor import Actor
from contextdash.cleaning import clean
from contextdash.errors import Conflict, Invalid, TooLarge
from contextdash.fields import text, word
from contextdash.limits import ATTACHMENT_BYTES, ATTACHMENTS_OF_MESSAGE, MIB, NAME_CHARS, PATH_CHARS
from contextdash.redaction import mask
from contextdash.writer import write
from sessions_app.models import Attachment, AttachmentContent, Iteration, Session, Turn
from sessions_app.services.sessions import named_session
from sessions_app.vocabulary import Audience

_MOST = 2**53


@dataclass(frozen=True, slots=True)
class Sent:
    """A file as it is told of: ``data`` or ``storage_uri``. Turn and model call are keys."""

    data: bytes | None = None
    storage_uri: str = ""
    filename: str = ""
    media_type: str = ""
    kind: str = ""
    audience: str = Audience.BOTH
    turn_id: int | None = None
    iteration_id: int | None = None
    call_id: str = ""
    position: int | None = None
    size: int | None = None
    """Of what ``storage_uri`` names, as its writer tells it."""
    transcription: str = ""
    attachment_id: str = ""
    created_us: int | None = None


@write
def add_attachment(*, session_id: str, sent: Sent, actor: Actor) -> tuple[Attachment, bool]:
    """A file of a session, and whether it is new. A session that nobody knows is made as that id.

    A name that the session has already gets the next version. ``storage_uri`` is kept as a text: nothing is
    ever opened or fetched. Of a text, secrets are masked before it is stored.

    Raises:
        Conflict: the session was deleted, or the attachment's id is known with other content.
        Invalid: a value is not acceptable, or its request or call has ATTACHMENTS_OF_MESSAGE already.
        TooLarge: the file is above ATTACHMENT_BYTES.
    """
    _check(sent)
    session = Session.objects.select_for_update().get(
        key=named_session(session_id=session_id, actor=actor).key
    )
    wanted = word(sent.attachment_id, "attachment_id") if sent.attachment_id else ids.mint()
    known = Attachment.objects.select_related("content", "session").filter(attachment_id=wanted).first()
    if known is not None:
        return _same(known, session, sent), False
    name = clean_name(sent.filename)
    turn, iteration = _place(session, sent)
    beside = Attachment.objects.filter(session=session, turn=turn, iteration=iteration, call_id=sent.call_id)
    if beside.count() >= ATTACHMENTS_OF_MESSAGE:
        raise Invalid(
            f"One request or call has at most {ATTACHMENTS_OF_MESSAGE} files (ATTACHMENTS_OF_MESSAGE).",
            field="data",
        )
    told = word(sent.media_type, "media_type", required=False)
    kept = None if sent.data is None else sniffing.media_type(sent.data, told)
    last = beside.aggregate(last=Max("position"))["last"]
    now_us = clock.now_us()
    made = Attachment.objects.create(
        attachment_id=wanted,
        session=session,
        turn=turn,
        iteration=iteration,
        call_id=sent.call_id,
        position=(0 if last is None else last + 1) if sent.position is None else sent.position,
        kind=word(sent.kind, "kind", chars=40, required=False) or _kind(kept),
        media_type=kept or told or sniffing.BYTES,
        told_type=told,
        filename=name,
        version=_next_version(session, name),
        size=len(sent.data) if sent.data is not None else sent.size or 0,
        audience=word(sent.audience, "audience", chars=40),
        transcription=text(sent.transcription, "transcription", required=False),
        content=None if sent.data is None else _content(sent.data),
        storage_uri=word(sent.storage_uri, "storage_uri", chars=PATH_CHARS, required=False),
        created_us=now_us if sent.created_us is None else min(sent.created_us, now_us),
    )
    Session.objects.filter(key=session.key).update(ordinal=F("ordinal") + 1)
    return made, True


def erase_files(which: Q) -> int:
    """Let go of the bytes and words of attachments; that they were there stays known. How many bytes went.

    Bytes that another session has as well stay there. Call it inside a write.
    """
    rows = Attachment.objects.filter(which, erased=False)
    contents = set(rows.exclude(content=None).values_list("content", flat=True))
    rows.update(content=None, transcription="", erased=True)
    return _drop(contents)


def clean_name(told: str) -> str:
    """The last part of a path, without what moves text or ends lines; a long one keeps its ending."""
    last = clean(told).replace("\\", "/").rpartition("/")[2]
    shown = "".join(char for char in last if unicodedata.category(char)[0] != "C")
    name = mask(" ".join(shown.split())).strip(". ")
    if len(name) <= NAME_CHARS:
        return name
    stem, dot, ending = name.rpartition(".")
    return f"{stem[: NAME_CHARS - 21]}{dot}{ending[:20]}" if dot else name[:NAME_CHARS]


def _check(sent: Sent) -> None:
    if (sent.data is None) == (not sent.storage_uri):
        raise Invalid("Send either data or storage_uri.", field="data")
    if sent.data is not None and len(sent.data) > ATTACHMENT_BYTES:
        raise TooLarge(
            f"The file is larger than {ATTACHMENT_BYTES // MIB} MiB (ATTACHMENT_BYTES).", field="data"
        )
    for name in ("position", "size"):
        value = getattr(sent, name)
        if value is not None and not 0 <= value <= (_MOST if name == "size" else 2**31 - 1):
            raise Invalid(f"{name} must be 0 or more.", field=name)
    word(sent.call_id, "call_id", required=False)


def _place(session: Session, sent: Sent) -> tuple[Turn | None, Iteration | None]:
    """The turn and the model call that the file belongs to; the turn follows from the call."""
    iteration = turn = None
    if sent.iteration_id is not None:
        iteration = (
            Iteration.objects.select_related("run__turn")
            .filter(key=sent.iteration_id, session=session)
            .first()
        )
        if iteration is None:
            raise Invalid("There is no such model call in this session.", field="iteration_id")
        turn = iteration.run.turn if iteration.run else None
    if sent.turn_id is not None:
        told = Turn.objects.filter(key=sent.turn_id, session=session).first()
        if told is None or (turn is not None and told.key != turn.key):
            raise Invalid(
                "There is no such turn in this session, or the call is of another.", field="turn_id"
            )
        turn = told
    return turn, iteration


def _next_version(session: Session, name: str) -> int:
    if not name:
        return 1
    rows = Attachment.objects.filter(session=session, filename=name)
    return (rows.aggregate(last=Max("version"))["last"] or 0) + 1


def _kind(media_type: str | None) -> str:
    return "image" if media_type in sniffing.IMAGES else "file"


def _content(data: bytes) -> AttachmentContent:
    """Equal bytes are kept once, recognised by their digest."""
    digest = hashlib.sha256(data).digest()
    known = AttachmentContent.objects.defer("data").filter(digest=digest).first()
    if known is not None:
        return known
    kept = mask(data.decode()).encode() if sniffing.is_text(data) else data
    try:
        with transaction.atomic():
            return AttachmentContent.objects.create(digest=digest, size=len(data), data=kept)
    except IntegrityError:  # PostgreSQL: somebody else sent it at this very moment
        return AttachmentContent.objects.defer("data").get(digest=digest)


def _same(known: Attachment, session: Session, sent: Sent) -> Attachment:
    if known.session_id != session.key:
        raise Conflict("This attachment is known in another session.", field="attachment_id")
    told = None if sent.data is None else hashlib.sha256(sent.data).digest()
    have = None if known.content is None else bytes(known.content.digest)
    if not known.erased and (told != have or known.filename != clean_name(sent.filename)):
        raise Conflict("This attachment is known with other content.", field="attachment_id")
    return known


def _drop(contents: Collection[int]) -> int:
    """Delete those of these contents that no attachment has any more."""
    free = AttachmentContent.objects.filter(pk__in=contents).exclude(
        pk__in=Attachment.objects.filter(content__in=contents).values("content")
    )
    found = dict(free.values_list("pk", "size"))
    AttachmentContent.objects.filter(pk__in=list(found)).delete()
    return sum(found.values())
