"""How tokens and cost look in answers: of a session, a turn or a run."""

from typing import Any

from ninja import Schema

from sessions_app.queries.transcript_steps import Cost
from sessions_app.queries.usage import Spent


class UsageOut(Schema):
    """Of model calls. Money in micro-dollars; null where nobody knows."""

    model_calls: int
    input_tokens: int | None
    """Of all classes: fresh, read from a cache, written to one."""
    cached_tokens: int | None
    """Of these, read from a cache."""
    output_tokens: int | None
    cost_micro: int | None


def usage_of_spent(spent: Spent) -> dict[str, Any]:
    calls = spent.requests
    return {
        "model_calls": calls,
        "input_tokens": spent.input if calls else None,
        "cached_tokens": spent.cached if calls else None,
        "output_tokens": spent.output if calls else None,
        "cost_micro": spent.cost_micro,
    }


def usage_out(cost: Cost) -> dict[str, Any]:
    return {
        "model_calls": cost.calls,
        "input_tokens": cost.given,
        "cached_tokens": cost.cached,
        "output_tokens": cost.output,
        "cost_micro": cost.micro,
    }
