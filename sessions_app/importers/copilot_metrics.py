"""What Copilot CLI says at the end of each process that a session cost, and which model calls it is of.

Prompts' tokens are told only then, for each model. Releases differ: some tell the process's own, others all
since the session began. Each file shows which by the output tokens of its messages, told one by one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sessions_app.importers.counting import LISTED, tokens
from sessions_app.ingest.reading import Body
from sessions_app.pricing import Usage


class Spent(NamedTuple):
    """Tokens as they are told: the input includes what was read from a cache and written to it."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @classmethod
    def of(cls, told: Body) -> "Spent":
        names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
        return cls(*(tokens(told, name) for name in names))

    def minus(self, other: "Spent") -> "Spent":
        return Spent(*(max(0, mine - its) for mine, its in zip(self, other, strict=True)))

    def covers(self, other: "Spent") -> bool:
        return all(mine >= its for mine, its in zip(self, other, strict=True))


@dataclass(frozen=True, slots=True)
class Settled:
    """A model call whose tokens are now known; those of a process's prompts stand at its last one."""

    own_id: str
    model: str
    at_us: int
    turn_id: str
    usage: Usage


class Segments:
    """The processes of a session. All is kept in ``state``, plain JSON, so that each end decides anew."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._state = state
        state.setdefault("segments", [])
        state.setdefault("segment", {})

    def answered(self, model: str, own_id: str, output: int, at_us: int, turn_id: str) -> None:
        """A message of a model, in the process that runs now."""
        models: dict[str, Any] = self._state["segment"]
        sums = models.setdefault(model, {"output": 0})
        sums["output"] += output
        sums["last"] = [own_id, output, at_us, turn_id]

    def ended(self, own_id: str, at_us: int, told: Mapping[str, Spent]) -> Iterator[Settled]:
        """A process ended; what all of them cost, as far as is known now."""
        ended: list[Any] = self._state["segments"]
        ended.append(
            {
                "id": own_id,
                "at_us": at_us,
                "told": {model: list(spent) for model, spent in told.items()},
                "heard": self._state["segment"],
            }
        )
        del ended[:-LISTED]
        self._state["segment"] = {}
        for segment, spent in zip(ended, self._own(ended), strict=True):
            for model, numbers in spent.items():
                if any(numbers):
                    yield _settle(segment, model, numbers)

    def _own(self, ended: list[Any]) -> list[dict[str, Spent]]:
        """What each process spent by itself."""
        told = [{model: Spent(*one) for model, one in segment["told"].items()} for segment in ended]
        if not self._is_running_total(ended, told):
            return told
        before: dict[str, Spent] = {}
        own: list[dict[str, Spent]] = []
        for now in told:
            own.append({model: spent.minus(before.get(model, Spent())) for model, spent in now.items()})
            before = now
        return own

    @staticmethod
    def _is_running_total(ended: list[Any], told: list[dict[str, Spent]]) -> bool:
        """Whether the later figures are nearer to all messages so far than to those of their own process."""
        apart = together = heard_so_far = 0
        for place, (segment, now) in enumerate(zip(ended, told, strict=True)):
            before = told[place - 1] if place else {}
            if any(model not in now or not now[model].covers(spent) for model, spent in before.items()):
                return False
            heard = sum(one["output"] for one in segment["heard"].values())
            heard_so_far += heard
            output = sum(spent.output for spent in now.values())
            apart += abs(output - heard)
            together += abs(output - heard_so_far)
        return together < apart


def _settle(segment: Any, model: str, spent: Spent) -> Settled:
    heard = segment["heard"].get(model) or (segment["heard"].get("") if len(segment["told"]) == 1 else None)
    own_id, output, at_us, turn_id = (
        heard["last"] if heard else [f"{segment['id']} {model}", 0, segment["at_us"], ""]
    )
    rest = max(0, spent.output - (heard["output"] if heard else 0))
    usage = Usage(
        input=max(0, spent.input - spent.cache_read - spent.cache_write),
        output=output + rest,
        cache_read=spent.cache_read,
        cache_write_5m=spent.cache_write,
    )
    return Settled(own_id, model, at_us, turn_id, usage)
