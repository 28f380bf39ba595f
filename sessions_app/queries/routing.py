"""Routing of model calls, and the one line about it that stands below a model call in the transcript."""

from collections.abc import Sequence

from contextdash.errors import NotFound
from sessions_app.models import Iteration, RoutingEvent

PIN_MOVED = "session-pick"


def iteration_of(key: int) -> Iteration:
    """
    Raises:
        NotFound: there is none, or its session was deleted.
    """
    rows = Iteration.objects.select_related("session").filter(session__deleted_at=None)
    found = rows.filter(key=key).first()
    if found is None:
        raise NotFound(f"There is no model call {key}.")
    return found


def routing_of(iteration: Iteration) -> list[RoutingEvent]:
    return list(RoutingEvent.objects.filter(iteration=iteration).order_by("position"))


def routing_notes(iteration_keys: Sequence[int]) -> dict[int, str]:
    """By model call: from where, why, how often tried again, whether the session stays there. One query.

    Calls that went straight to their model are left out.
    """
    if not iteration_keys:
        return {}
    found: dict[int, list[RoutingEvent]] = {}
    rows = RoutingEvent.objects.filter(iteration__in=list(iteration_keys)).defer("error")
    for row in rows.order_by("iteration", "position"):
        found.setdefault(row.iteration_id, []).append(row)
    return {key: note_of(events) for key, events in found.items()}


def note_of(events: Sequence[RoutingEvent]) -> str:
    """Such as "from anthropic/opus to openai/sol - rate-limit, retried 2 times, the session stays there".

    A fallback's reason is no retry: the two are counted apart.
    """
    retries = [event for event in events if event.type.endswith("retry")]
    moves = [event for event in events if event.type.endswith("fallback")]
    words = []
    if moves:
        first, last = moves[0], moves[-1]
        start, end = _named(first.from_provider, first.from_model), _named(last.to_provider, last.to_model)
        way = " ".join(part for part in (start and f"from {start}", end and f"to {end}") if part)
        why = last.reason or (str(last.status) if last.status else "")
        words.append(" - ".join(part for part in (way or "rerouted", why) if part))
    if retries:
        times = "once" if len(retries) == 1 else f"{len(retries)} times"
        why = retries[-1].reason or (str(retries[-1].status) if retries[-1].status else "")
        words.append(f"retried {times}" + (f" ({why})" if why else ""))
    if any(isinstance(event.data, dict) and event.data.get("scope") == PIN_MOVED for event in moves):
        words.append("the session stays there")
    return ", ".join(words) or ", ".join(dict.fromkeys(event.type for event in events))


def _named(provider: str, model: str) -> str:
    return "/".join(part for part in (provider, model) if part)
