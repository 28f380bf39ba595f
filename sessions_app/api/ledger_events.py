"""Events of a run: appended by its writer, and read again."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from contextdash.apikit import allow, may
from contextdash.errors import Conflict, Invalid, TooLarge
from contextdash.limits import LEDGER_EVENTS, PAGE_ROWS
from contextdash.models.token import Scope
from sessions_app.api.ledger_outs import EventList, EventOut, event_out
from sessions_app.ledger.envelope import Sent, decode, read
from sessions_app.queries import ledger_replay as replay
from sessions_app.queries.partials import replayed
from sessions_app.services.ledger_append import Appended, append_events

router = Router(tags=["ledger"])


class AppendedOut(Schema):
    id: str
    seq: int | None
    created: bool


class AppendOut(Schema):
    run_id: int
    last_seq: int
    sealed: bool
    items: list[AppendedOut]


class RunEventQuery(Schema):
    after: int = Field(0, ge=0, lt=2**31, description="The seq of the last event that you have.")
    limit: int = Field(20, ge=1, le=PAGE_ROWS)
    whole: bool = Field(False, description="All of them in one answer, or limit_exceeded: never cut.")


class ReplayQuery(Schema):
    after: int = Field(0, ge=0, lt=2**31, description="The seq of the last event that you have.")


class ReplayedOut(Schema):
    seq: int | None = Field(description="Null for a stream that is not final.")
    event: Any


class ReplayOut(Schema):
    items: list[ReplayedOut]


class PrefixQuery(Schema):
    to: int | None = Field(None, ge=1, lt=2**31, description="The last seq of it; left out, all of the run.")
    digest: str | None = Field(None, description="What you hold it to be; another one is a conflict.")


class PrefixOut(Schema):
    seq: int
    digest: str
    items: list[EventOut]


_EVENT = {
    "type": "object",
    "description": "The envelope: id, invocationId, runId, sessionId, turnId, ts, partial, role, author; "
    "and branch, origin, modelVisibility, status, content, actions, refs. Unknown keys are refused.",
}
BUNDLE = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["events"],
                    "properties": {
                        "events": {"type": "array", "items": _EVENT, "maxItems": LEDGER_EVENTS},
                        "expected_seq": {"type": "integer", "minimum": 0},
                        "expected_version": {"type": "integer", "minimum": 0},
                    },
                }
            }
        },
    }
}


@router.post(
    "runs/{run_id}/events",
    response={200: AppendOut, 201: AppendOut},
    summary="Append events to a run, all or nothing",
    openapi_extra=BUNDLE,
)
def post_events(request: HttpRequest, run_id: int) -> Status[Any]:
    """The server numbers them. An event of a known id and the same content is accepted and not written."""
    actor = allow(request, Scope.WRITE)
    events, expected = sent_events(request, "expected_seq")
    found = replay.run_of(run_id)
    made = append_events(run=found, events=events, expected_seq=expected["expected_seq"], actor=actor)
    return appended(run_id, made)


@router.get("runs/{run_id}/events", response=EventList, summary="Events of a run, from any place")
def run_events(request: HttpRequest, run_id: int, query: Query[RunEventQuery]) -> Any:
    """``next`` is what to send as ``after`` for more."""
    actor = allow(request, Scope.READ)
    found = replay.run_of(run_id, deleted=may(actor, Scope.ADMIN))
    if query.whole:
        return {"items": [event_out(one) for one in replay.whole_run(found, after=query.after)], "next": None}
    items, go_on = replay.run_events(found, after=query.after, limit=query.limit)
    return {"items": [event_out(one) for one in items], "next": go_on}


@router.get("runs/{run_id}/replay", response=ReplayOut, summary="A run as it was written, streams included")
def get_replay(request: HttpRequest, run_id: int, query: Query[ReplayQuery]) -> Any:
    """The events in their writer's words, and streams that are not final where they stand among them."""
    actor = allow(request, Scope.READ)
    found = replay.run_of(run_id, deleted=may(actor, Scope.ADMIN))
    return {"items": [asdict(one) for one in replayed(found, after=query.after)]}


@router.get("runs/{run_id}/prefix", response=PrefixOut, summary="A run from its beginning, with its digest")
def prefix(request: HttpRequest, run_id: int, query: Query[PrefixQuery]) -> Any:
    """For whoever goes on from there: refused where a number is missing."""
    actor = allow(request, Scope.READ)
    found = replay.prefix_of(replay.run_of(run_id, deleted=may(actor, Scope.ADMIN)), to=query.to)
    if query.digest and query.digest != found.digest:
        raise Conflict(f"The digest is {found.digest}.", code="digest_conflict", field="digest")
    return {"seq": found.seq, "digest": found.digest, "items": [event_out(one) for one in found.items]}


def sent_events(request: HttpRequest, *numbers: str) -> tuple[list[Sent], dict[str, int | None]]:
    """The events of a body, one or many, and the numbers beside them."""
    body = decode(request.body)
    if not isinstance(body, dict):
        raise Invalid('Send {"events": [...]}, or one event.', field="events")
    if "events" not in body:
        return [read(body)], dict.fromkeys(numbers)
    unknown = body.keys() - {"events", *numbers}
    if unknown:
        raise Invalid(f"{min(unknown)} is not known here.", field=min(unknown))
    events = body["events"]
    if not isinstance(events, list) or not events:
        raise Invalid("events must be a list with at least one event.", field="events")
    if len(events) > LEDGER_EVENTS:
        raise TooLarge(f"Send at most {LEDGER_EVENTS} events at once (LEDGER_EVENTS).", field="events")
    expected = {name: _number(body, name) for name in numbers}
    return [read(event, f"events.{number}") for number, event in enumerate(events)], expected


def _number(body: dict[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31):
        return value
    raise Invalid(f"{name} must be a whole number.", field=name)


def appended(run_id: int, made: Sequence[Appended]) -> Status[Any]:
    last_seq, sealed = replay.position_of(run_id)
    answer = {
        "run_id": run_id,
        "last_seq": last_seq,
        "sealed": sealed,
        "items": [asdict(one) for one in made],
    }
    return Status(201 if any(one.created for one in made) else 200, answer)
