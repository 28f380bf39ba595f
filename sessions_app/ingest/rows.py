"""The rows that a batch reads and moves, as plain objects: the ORM's would cost 0.2 ms each.

Their fields are the columns of their tables; ``statements`` loads and stores them.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(slots=True, eq=False)
class SessionRow:
    key: int
    id: str
    parent_id: int | None
    client: str
    agent_name: str
    agent_id: str
    host: str
    workspace: str
    place_id: int | None
    project_id: int | None
    branch: str | None
    model: str
    permission_mode: str
    title: str
    started_us: int
    started_at: Any
    last_us: int
    ended_at: Any
    status: str
    activity: str
    activity_since_us: int
    waiting_for: str
    current_call: str
    started_only: bool
    ordinal: int
    event_count: int
    turn_count: int
    call_count: int
    failed_count: int
    child_count: int
    compaction_count: int
    deleted_at: Any
    stored: tuple[Any, ...] = ()
    """The values as the database has them, in the order of the columns."""


@dataclass(slots=True, eq=False)
class TurnRow:
    key: int
    session_id: int
    turn_id: str
    number: int
    started_us: int
    ended_us: int | None
    call_count: int
    failed_count: int
    prompted: bool = False
    stored: tuple[Any, ...] = ()


@dataclass(slots=True, eq=False)
class RunRow:
    key: int
    session_id: int
    turn_id: int
    number: int
    status: str
    last_seq: int
    started_us: int
    ended_us: int | None
    ledger: bool = False
    sealed: bool = False
    stored: tuple[Any, ...] = ()


@dataclass(slots=True, eq=False)
class CallRow:
    session_id: int
    call_id: str
    run_id: int | None
    name: str
    state: str
    summary: str
    error: str
    call_event_id: int | None
    result_event_id: int | None
    child_id: int | None
    started_us: int
    ended_us: int | None
    duration_us: int | None
    input_size: int
    output_size: int
    key: int | None = None
    called_us: int | None = None
    """When the call's event says it happened, on the client's clock; not stored here."""
    answered_us: int | None = None
    called_by: str | None = None
    """The source that told of the call; not stored here."""
    answered_by: str | None = None
    stored: tuple[Any, ...] = ()


@dataclass(slots=True, eq=False)
class EventRow:
    key: int
    session_id: int
    run_id: int | None
    seq: int | None
    ordinal: int
    source: str
    client: str
    name: str
    kind: str
    identity: bytes
    content: bytes
    occurred_us: int
    received_us: int
    payload: bytes
    payload_size: int
    late: bool


@dataclass(slots=True, eq=False)
class SessionEventRow:
    session_id: int
    event_id: int
    type: str
    category: str
    priority: int
    data: str
    occurred_us: int


class TouchedRow(NamedTuple):
    """In the order of the statement that stores it."""

    path: str
    action: str
    session_id: int
    call_id: str
