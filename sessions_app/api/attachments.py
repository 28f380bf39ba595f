"""Files of sessions: sent as base64 in JSON or as a form, listed without their bytes, read."""

import base64
import binascii
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import File, Form, Query, Router, Schema, Status, UploadedFile
from pydantic import Field

from contextdash import clock
from contextdash.apikit import Bearer, Body, Key, Paging, allow, listed, once, receipt_digest
from contextdash.errors import Invalid, TooLarge
from contextdash.limits import ATTACHMENT_BYTES, MIB
from contextdash.models.token import Scope
from sessions_app.filed import file_answer
from sessions_app.models import Attachment
from sessions_app.queries import attachments as queries
from sessions_app.queries import sessions_api
from sessions_app.services.attachments import Sent, add_attachment
from sessions_app.services.belonging import told_time
from sessions_app.vocabulary import Audience

router = Router(tags=["attachments"])

FORMS = frozenset({"multipart/form-data"})

type Moment = str | int | float | None


class AttachmentFields(Body):
    session_id: str
    filename: str = ""
    media_type: str = Field("", description="What you hold it to be; what it is, its bytes say.")
    kind: str = ""
    audience: str = Audience.BOTH
    turn_id: Key | None = None
    iteration_id: Key | None = Field(None, description="The model call whose tool made it.")
    call_id: str = Field("", description="Of the tool call.")
    position: int | None = None
    transcription: str = ""
    attachment_id: str = Field("", description="What makes it the same file when it is sent again.")
    created_at: Moment = None


class AttachmentIn(AttachmentFields):
    data: str | None = Field(None, description="The bytes in base64; or storage_uri.")
    storage_uri: str = Field("", description="Where they are; kept as a text, never opened or fetched.")
    size: int | None = Field(None, description="Of what storage_uri names.")


class AttachmentOut(Schema):
    id: int
    attachment_id: str
    session_id: str
    turn_id: int | None
    iteration_id: int | None
    call_id: str
    rail: str
    """user: sent with a request; tool: made by a tool call."""
    position: int
    kind: str
    media_type: str
    told_type: str
    filename: str
    version: int
    size: int
    audience: str
    transcription: str
    storage_uri: str
    has_bytes: bool
    erased: bool
    created_at: str


class AttachmentList(Schema):
    items: list[AttachmentOut]
    next: str | None


class AttachmentQuery(Paging):
    session: str | None = None
    turn: Key | None = None
    everyone: bool = Field(False, description="Those for the model alone as well.")


@router.post("", response={200: AttachmentOut, 201: AttachmentOut}, summary="Attach a file to a session")
def post_attachment(request: HttpRequest, payload: AttachmentIn) -> Status[Any]:
    """A name that the session has already gets the next version."""
    actor = allow(request, Scope.WRITE)
    sent = _sent(payload, None if payload.data is None else _decoded(payload.data))
    made = False

    def create() -> Attachment:
        nonlocal made
        row, made = add_attachment(session_id=payload.session_id, sent=sent, actor=actor)
        return row

    row = once(request, actor, Attachment, create)
    return Status(201 if made else 200, attachment_out(queries.attachment(row.pk)))


@router.post(
    "/upload",
    response={200: AttachmentOut, 201: AttachmentOut},
    auth=Bearer(FORMS),
    summary="Attach a file that is sent as a form",
)
def upload(request: HttpRequest, payload: Form[AttachmentFields], file: File[UploadedFile]) -> Status[Any]:
    """``multipart/form-data`` with the file as ``file``; its own name holds unless ``filename`` is sent."""
    actor = allow(request, Scope.WRITE)
    if (file.size or 0) > ATTACHMENT_BYTES:
        raise TooLarge(
            f"The file is larger than {ATTACHMENT_BYTES // MIB} MiB (ATTACHMENT_BYTES).", field="file"
        )
    # The border between the parts of a form is another each time, so the key stands for the file's own id.
    key = request.headers.get("Idempotency-Key", "")
    own_id = payload.attachment_id or (f"key-{receipt_digest(request, actor, key).hex()}" if key else "")
    sent = _sent(payload, file.read(), filename=payload.filename or file.name or "", attachment_id=own_id)
    row, made = add_attachment(session_id=payload.session_id, sent=sent, actor=actor)
    return Status(201 if made else 200, attachment_out(queries.attachment(row.pk)))


@router.get("", response=AttachmentList, summary="Files of sessions, newest first, without their bytes")
def attachments(request: HttpRequest, query: Query[AttachmentQuery]) -> Any:
    allow(request, Scope.READ)
    found = queries.attachment_page(
        session=sessions_api.find_session(query.session) if query.session else None,
        turn=query.turn,
        everyone=query.everyone,
        limit=query.limit,
        cursor=query.cursor,
    )
    return listed(found, attachment_out)


@router.get("/{attachment_id}", response=AttachmentOut, summary="What is known of a file")
def attachment(request: HttpRequest, attachment_id: int) -> Any:
    allow(request, Scope.READ)
    return attachment_out(queries.attachment(attachment_id))


@router.get("/{attachment_id}/file", summary="The bytes of a file")
def file(request: HttpRequest, attachment_id: int) -> HttpResponse:
    """A picture as what it is; all else as a download that no browser runs."""
    allow(request, Scope.READ)
    return file_answer(queries.attachment(attachment_id))


def attachment_out(row: Attachment) -> dict[str, Any]:
    names = (
        *("attachment_id", "turn_id", "iteration_id", "call_id", "position", "kind", "media_type"),
        *("told_type", "filename", "version", "size", "audience", "transcription", "storage_uri", "erased"),
    )
    return {
        "id": row.pk,
        "session_id": row.session.id,
        "rail": "tool" if row.iteration_id is not None or row.call_id else "user",
        "has_bytes": row.content_id is not None,
        "created_at": clock.iso(clock.from_us(row.created_us)),
        **{name: getattr(row, name) for name in names},
    }


def _sent(payload: AttachmentFields, data: bytes | None, **told: Any) -> Sent:
    created = told_time(payload.created_at, "created_at")
    values = payload.model_dump(exclude={"session_id", "data", "created_at"})
    return Sent(**{**values, **told}, data=data, created_us=None if created is None else clock.to_us(created))


def _decoded(data: str) -> bytes:
    """Raises Invalid for what is no base64, and TooLarge before it is decoded."""
    if len(data) > ATTACHMENT_BYTES * 4 // 3 + 4:
        raise TooLarge(
            f"The file is larger than {ATTACHMENT_BYTES // MIB} MiB (ATTACHMENT_BYTES).", field="data"
        )
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("data is no base64.", field="data") from None
