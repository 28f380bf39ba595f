"""How tokens and cost look in answers: of a session, a turn or a run."""

from typing import Any

from ninja import Schema

from sessions_app.models import Session
from sessions_app.queries.transcript_steps import Cost


class UsageOut(Schema):
    """Of its model calls alone, without subagents. Money in micro-dollars; null where nobody knows."""

    model_calls: int
    input_tokens: int | None
    """Of all classes: fresh, read from a cache, written to one."""
    cached_tokens: int | None
    """Of these, read from a cache."""
    output_tokens: int | None
    cost_micro: int | None


def usage_of_session(row: Session) -> dict[str, Any]:
    given = row.input_tokens + row.cache_read_tokens + row.cache_write_tokens
    calls = row.iteration_count
    return {
        "model_calls": calls,
        "input_tokens": given if calls else None,
        "cached_tokens": row.cache_read_tokens if calls else None,
        "output_tokens": row.output_tokens if calls else None,
        "cost_micro": row.cost_micro,
    }


def usage_out(cost: Cost) -> dict[str, Any]:
    return {
        "model_calls": cost.calls,
        "input_tokens": cost.given,
        "cached_tokens": cost.cached,
        "output_tokens": cost.output,
        "cost_micro": cost.micro,
    }
