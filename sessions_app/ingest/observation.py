"""One delivery of a client, understood: everything that ``store`` needs, made outside the writer's turn."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from sessions_app.ingest.files import FileSeen
from sessions_app.vocabulary import EventKind, Source

RANKS: dict[str, int] = {Source.OTLP: 1, Source.HOOK: 2, Source.API: 3, Source.TRANSCRIPT: 4}
"""Whose word holds where several tell of one thing: that of the highest, whatever came first."""

HISTORY = frozenset({Source.TRANSCRIPT, Source.OTLP})
"""Sources that tell of what was: they move neither activity nor status."""


class Outcome(StrEnum):
    """What became of a delivery. A hook is answered the same for each; a batch's answer lists them."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    """The same identity with other content: the other content is quarantined."""
    DELETED_SESSION = "deleted_session"
    COUNTED = "counted"
    """A piece of a stream: acknowledged, and not stored."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is known of a delivery besides its body. Times in µs, UTC."""

    received_us: int
    captured_us: int | None = None
    delivery_id: str = ""
    host: str = ""
    root: str = ""
    """The repository's root folder, told at session start."""
    remote: str = ""
    branch: str = ""
    owner_id: int | None = None
    """The user whose token it came with."""


class PlanSeen(NamedTuple):
    path: str
    body: str
    title: str
    status: str


@dataclass(slots=True)
class Observation:
    """Texts are cleaned and masked, ids and digests are of what was sent. Times in µs, UTC."""

    client: str
    name: str
    delivery: Delivery
    source: str = Source.HOOK
    kind: str = EventKind.OTHER
    known: bool = True
    stream: bool = False
    """A piece of a stream (a message delta): counted only."""

    root_id: str = ""
    """The session that the client names; empty where the delivery belongs to none."""
    external_id: str = ""
    agent_id: str = ""
    agent_name: str = ""
    session_id: str = ""
    """The session that it happened in: the client's, or the subagent's child of it."""

    parent_id: str = ""
    """The session that started this one, where the client gives a subagent's session an id of its own."""

    identity: bytes = b""
    earlier_identity: bytes = b""
    """Where equal bytes make the identity: that of the five seconds before."""
    content: bytes = b""
    payload: bytes = b""
    payload_size: int = 0
    clock_us: int | None = None
    """The time in the body, for clients that write one."""
    occurred_us: int = 0
    """As the client's clock says."""
    at_us: int = 0
    """As far as it can be believed: never after it was received, never long before."""

    run_key: int | None = None
    """The run that a ledger's writer appends to: the event belongs there, whatever its turn."""
    turn_id: str = ""
    prompt: str = ""
    answer: str = ""
    error: str = ""
    queued: bool = False
    """A prompt that was typed while the agent worked on another: it interrupts nothing."""
    started_by: str = ""
    """How a session start came about: startup, resume, clear, compact, fork."""
    waiting_for: str | None = None
    """What a person must answer now; None where the event does not wait."""
    idle: bool = False
    """The client says that it has nothing to do."""

    call_id: str = ""
    tool: str = ""
    summary: str = ""
    files: tuple[FileSeen, ...] = ()
    """What the call reads or changes, where its input says so."""
    input_size: int = 0
    output_size: int = 0
    duration_us: int | None = None
    interrupted: bool = False
    spawned_id: str = ""
    """The session of the subagent that the call started, once its agent id is known."""
    spawned_agent_id: str = ""
    spawned_agent_name: str = ""
    spawned_title: str = ""
    spawned_prompt: str = ""
    spawned_model: str = ""

    cwd: str = ""
    model: str = ""
    permission_mode: str = ""
    title: str = ""
    category: str = ""
    priority: int = 3
    data: str = ""
    plans: tuple[PlanSeen, ...] = ()
