"""``POST ingest``: many lines of every noun and of hooks in one body, stored together.

This and ``contextdash/api.py`` are the parts of the API that see every app.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import msgspec
from django.db import models
from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import ValidationError

from backlog_app.api.backlog import StoryBody, create_story
from backlog_app.models import BacklogItem
from contextdash import clock
from contextdash.actor import Actor
from contextdash.apikit import NDJSON, Bearer, Browser, allow, not_valid, permit, receipt_digest
from contextdash.decoding import decode_json
from contextdash.errors import Invalid, Malformed, Refused, TooLarge
from contextdash.ids import digest16
from contextdash.limits import JSON_DEPTH, NDJSON_LINES, NDJSON_WRITER_LINES
from contextdash.models.token import Scope
from contextdash.services import receipts
from contextdash.writer import writer
from reviews_app.api import ReviewBody, create_review
from reviews_app.models import Review
from sessions_app.api.decisions import DecisionIn, create_decision
from sessions_app.api.hook_events import HookEventIn, create_hook_event
from sessions_app.api.messages import MessageIn, create_message
from sessions_app.api.mistakes import MistakeIn, create_mistake
from sessions_app.api.plans import PlanIn, create_plan
from sessions_app.api.sessions import EnsureIn, ensured
from sessions_app.ingest.endpoint import FACTS
from sessions_app.ingest.observation import Observation, Outcome
from sessions_app.ingest.observing import delivery_of, known_client, observe
from sessions_app.ingest.store import store
from sessions_app.models import AgentMessage, Decision, HookEvent, Mistake, Plan, Session
from sessions_app.services.quarantine import quarantine_delivery
from sessions_app.services.spools import report_spool

router = Router(tags=["ingest"], auth=[Bearer(NDJSON), Browser(NDJSON)])


@dataclass(frozen=True, slots=True)
class Noun:
    """A kind of line: the body that its own endpoint takes, and what makes a row of it."""

    body: type[Schema]
    create: Callable[[Actor, Any], models.Model]
    model: type[models.Model]


NOUNS: dict[str, Noun] = {
    "session": Noun(EnsureIn, lambda actor, body: ensured(actor, body)[0], Session),
    "message": Noun(MessageIn, create_message, AgentMessage),
    "plan": Noun(PlanIn, create_plan, Plan),
    "decision": Noun(DecisionIn, create_decision, Decision),
    "mistake": Noun(MistakeIn, create_mistake, Mistake),
    "review": Noun(ReviewBody, create_review, Review),
    "backlog": Noun(StoryBody, create_story, BacklogItem),
    "hook-event": Noun(HookEventIn, create_hook_event, HookEvent),
}
HOOK = "hook"
SPOOL_FACTS = ("Host", "User", "Waiting", "Dropped")


class Made(Schema):
    line: int
    type: str
    id: int | str


class Rejected(Schema):
    line: int
    error: str
    detail: str
    field: str | None


class IngestOut(Schema):
    """Line numbers count from 1."""

    accepted: list[int]
    duplicate: list[int]
    rejected: list[Rejected]
    made: list[Made]


class _Line(msgspec.Struct):
    """A line as the hook client writes it; its body stays bytes until it is observed."""

    type: str
    client: str = ""
    event: str | None = None
    delivery_id: str | None = None
    captured_at: str | int | float | None = None
    host: str | None = None
    root: str | None = None
    remote: str | None = None
    branch: str | None = None
    body: msgspec.Raw = msgspec.Raw(b"null")


_decode_line = msgspec.json.Decoder(_Line).decode


@dataclass(frozen=True, slots=True)
class _NounLine:
    number: int
    type: str
    body: Schema
    receipt: tuple[bytes, bytes] | None
    """Digests of key and body, where a repeated key is to be recognised."""


@dataclass(frozen=True, slots=True)
class _Refused:
    """A hook line that cannot be stored; its sender has no other copy, so it is kept to look at."""

    client: str
    event: str
    error: Refused
    body: bytes


@dataclass(slots=True)
class _Answer:
    accepted: list[int] = field(default_factory=list)
    duplicate: list[int] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)

    def reject(self, number: int, error: Refused) -> None:
        self.rejected.append(Rejected(line=number, error=error.code, detail=error.detail, field=error.field))

    def add(self, other: "_Answer") -> None:
        self.accepted += other.accepted
        self.duplicate += other.duplicate
        self.rejected += other.rejected
        self.made += other.made


@dataclass(slots=True)
class _Batch:
    """The lines of a body, read and not stored yet."""

    hooks: list[tuple[int, Observation]] = field(default_factory=list)
    nouns: list[_NounLine] = field(default_factory=list)
    refused: list[_Refused] = field(default_factory=list)


@router.post(
    "ingest",
    response=IngestOut,
    summary="Many lines at once",
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
    },
)
def ingest(request: HttpRequest) -> IngestOut:
    """One JSON object a line, ``{"type": noun, …}`` with the body that the noun's own endpoint takes, or
    ``{"type": "hook", "client": …, "body": {…}}``. Valid lines are stored together."""
    actor = allow(request, Scope.INGEST)
    lines = request.body.split(b"\n")
    if sum(1 for line in lines if line) > NDJSON_LINES:
        raise TooLarge(f"More than {NDJSON_LINES} lines (NDJSON_LINES). Send them in parts.")
    batch, answer = _Batch(), _Answer()
    received_us = clock.now_us()
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if line:
            try:
                _read(batch, number, line, request, actor, received_us)
            except Refused as error:
                answer.reject(number, error)
    if len(batch.nouns) > NDJSON_WRITER_LINES:
        raise TooLarge(
            f"More than {NDJSON_WRITER_LINES} lines beside hooks (NDJSON_WRITER_LINES). Send them in parts."
        )
    answer.add(_stored(batch, actor))
    _keep_spool_state(request, received_us)
    return IngestOut(
        accepted=sorted(answer.accepted),
        duplicate=sorted(answer.duplicate),
        rejected=sorted(answer.rejected, key=lambda rejected: rejected.line),
        made=answer.made,
    )


def _keep_spool_state(request: HttpRequest, at_us: int) -> None:
    """A hook client that empties its spool says how much still waits there."""
    told = {name: unquote(request.headers.get(f"X-Contextdash-{name}", "")) for name in SPOOL_FACTS}
    waiting, dropped = (_count(told[name]) for name in ("Waiting", "Dropped"))
    if waiting is not None:
        report_spool(
            host=told["Host"], user_name=told["User"], waiting=waiting, dropped=dropped or 0, at_us=at_us
        )


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None


def _read(
    batch: _Batch, number: int, raw: bytes, request: HttpRequest, actor: Actor, received_us: int
) -> None:
    line = _hook_line(raw)
    if line is None:
        told = decode_json(raw)
        kind = told.get("type") if isinstance(told, dict) else None
        if kind != HOOK:
            batch.nouns.append(_noun_line(number, kind, told, request, actor))
            return
        line = _tolerant_hook_line(told)
    try:
        batch.hooks.append((number, _observed(line, actor, received_us)))
    except Refused as error:
        batch.refused.append(_Refused(line.client, line.event or "", error, bytes(line.body)))
        raise


def _hook_line(raw: bytes) -> _Line | None:
    """The line where it is a plain one of a hook, its body not decoded; None where it needs a closer look."""
    # Few brackets cannot nest deeply; msgspec recurses while it skips a body.
    if raw.count(b"[") + raw.count(b"{") > JSON_DEPTH:
        return None
    try:
        line = _decode_line(raw)
    except msgspec.DecodeError:
        return None
    return line if line.type == HOOK else None


def _tolerant_hook_line(told: dict[str, Any]) -> _Line:
    """A fact of a wrong type is left out: the body is worth more than it."""
    texts = {name: told[name] for name in ("client", "event", *FACTS) if isinstance(told.get(name), str)}
    captured_at = told.get("captured_at")
    if isinstance(captured_at, int | float):
        texts["captured_at"] = captured_at
    return _Line(type=HOOK, body=msgspec.Raw(msgspec.json.encode(told.get("body"))), **texts)


def _observed(line: _Line, actor: Actor, received_us: int) -> Observation:
    facts = {name: getattr(line, name) for name in FACTS}
    owner_id = actor.user.pk if actor.user is not None else None
    delivery = delivery_of(facts, received_us=received_us, owner_id=owner_id)
    return observe(
        bytes(line.body), client=known_client(line.client), delivery=delivery, event=line.event or ""
    )


def _noun_line(number: int, kind: object, told: Any, request: HttpRequest, actor: Actor) -> _NounLine:
    if not isinstance(told, dict):
        raise Malformed("A line must be a JSON object.")
    noun = NOUNS.get(kind) if isinstance(kind, str) else None
    if noun is None or not isinstance(kind, str):
        raise Invalid(f"type must be one of {', '.join([*NOUNS, HOOK])}.", field="type")
    permit(actor, Scope.WRITE)
    key = told.pop("idempotency_key", None)
    del told["type"]
    receipt = None
    header = request.headers.get("Idempotency-Key", "")
    if key or header:
        own = f"line {key}" if key else f"{header} {number}"
        receipt = (receipt_digest(request, actor, own), digest16(msgspec.json.encode(told)))
    try:
        body = noun.body.model_validate(told)
    except ValidationError as error:
        raise not_valid(error.errors()) from None
    return _NounLine(number, kind, body, receipt)


def _stored(batch: _Batch, actor: Actor) -> _Answer:
    """All lines in one transaction. Hooks alone share the writer's turn with what else waits for it."""
    observations = [seen for _, seen in batch.hooks]
    if not batch.nouns and not batch.refused:
        return _told(batch, writer.submit(store, observations) if observations else [])

    def together(_: Sequence[None]) -> Sequence[_Answer]:
        # The writer repeats a job whose commit failed, so it begins with an answer of its own.
        answer = _told(batch, store(observations) if observations else [])
        for refused in batch.refused:
            quarantine_delivery(
                client=refused.client,
                event=refused.event,
                reason=refused.error.code,
                detail=refused.error.detail,
                body=refused.body,
            )
        for line in batch.nouns:
            _create(answer, line, actor)
        return [answer]

    return writer.submit(together, [None])[0]


def _create(answer: _Answer, line: _NounLine, actor: Actor) -> None:
    noun = NOUNS[line.type]
    fresh = True
    try:
        if line.receipt is None:
            row = noun.create(actor, line.body)
        else:
            row, fresh = receipts.once_and_tell(
                digest=line.receipt[0],
                body_digest=line.receipt[1],
                model=noun.model,
                create=lambda: noun.create(actor, line.body),
            )
    except Refused as error:
        answer.reject(line.number, error)
        return
    (answer.accepted if fresh else answer.duplicate).append(line.number)
    answer.made.append(Made(line=line.number, type=line.type, id=getattr(row, "id", row.pk)))


def _told(batch: _Batch, outcomes: Sequence[Outcome]) -> _Answer:
    """What became of the hooks."""
    answer = _Answer()
    for (number, seen), outcome in zip(batch.hooks, outcomes, strict=True):
        if outcome in (Outcome.ACCEPTED, Outcome.COUNTED):
            answer.accepted.append(number)
        elif outcome == Outcome.DUPLICATE:
            answer.duplicate.append(number)
        else:
            detail = (
                f"Session {seen.root_id} was deleted."
                if outcome == Outcome.DELETED_SESSION
                else "The same delivery was stored before with other content; both are kept."
            )
            answer.reject(number, Refused(detail, code=outcome.value))
    return answer
