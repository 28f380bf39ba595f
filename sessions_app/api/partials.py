"""Texts that are still being streamed into a run."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from contextdash import clock
from contextdash.apikit import Body, allow, once_told
from contextdash.limits import PAGE_ROWS
from contextdash.models.token import Scope
from sessions_app.queries import partials as queries
from sessions_app.queries.partials import Partial
from sessions_app.queries.sessions_api import find_session
from sessions_app.services.partials import write_partial

router = Router(tags=["claims"])


class PiecesIn(Body):
    events: list[dict[str, Any]] = Field(
        min_length=1, max_length=PAGE_ROWS, description="Partial events of this one stream, in order."
    )


class StoredOut(Schema):
    stored: bool = Field(description="False where the stream's final event is there already.")


class PartialOut(Schema):
    stream_key: str
    run_id: str
    kind: str
    after_seq: int = Field(description="It is shown after the event of this seq in its run; 0 is first.")
    text: str
    size: int = Field(description="Bytes of the text; a list holds its first 256 KiB.")
    event: dict[str, Any] = Field(description="As it would be if the stream ended here.")
    updated_at: str


class PartialList(Schema):
    items: list[PartialOut]
    next: None


class PartialQuery(Schema):
    session: str = Field(description="An id, the beginning of one, or latest.")


@router.put("/{stream_key}", response={200: StoredOut, 201: StoredOut}, summary="Add to a stream")
def put_partial(request: HttpRequest, stream_key: str, payload: PiecesIn) -> Status[Any]:
    """Pieces are added in the order in which they come. With its final event the stream leaves."""
    actor = allow(request, Scope.WRITE)

    def act() -> bool:
        return write_partial(key=stream_key, pieces=payload.events, actor=actor) is not None

    # A retry of pieces would double their text; the sender's key tells it from what follows.
    stored = once_told(request, actor, "partial_snapshots", act)
    return Status(201 if stored else 200, {"stored": stored})


@router.get("", response=PartialList, summary="Streams of a session, newest first")
def partials(request: HttpRequest, query: Query[PartialQuery]) -> Any:
    allow(request, Scope.READ)
    found = queries.of_session(find_session(query.session).key)
    return {"items": [partial_out(row) for row in found], "next": None}


@router.get("/{stream_key}", response=PartialOut, summary="One stream")
def partial(request: HttpRequest, stream_key: str) -> Any:
    allow(request, Scope.READ)
    return partial_out(queries.partial(stream_key))


def partial_out(row: Partial) -> dict[str, Any]:
    return {
        "stream_key": row.stream_key,
        "run_id": row.run_id,
        "kind": row.kind,
        "after_seq": row.after_seq,
        "text": row.text,
        "size": row.size,
        "event": row.envelope,
        "updated_at": clock.iso(clock.from_us(row.updated_us)),
    }
