"""Tokens and cost kept beside their model calls: on the session, and in quarters of an hour (UTC).

A model call that becomes better known is taken out as it was and put in as it is, so that every sum holds
whatever order its records came in. A fork's copy of a call is in no sum: it is counted where it happened.
"""

# ruff: noqa: S608 - the text is made of our own names and of %s marks

from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Protocol

from django.db import connection
from django.db.models import F

from contextdash.writer import write
from sessions_app.models import Iteration, Session
from sessions_app.pricing import OWN, TOLD, Price, PriceBook, Usage
from sessions_app.vocabulary import Source

QUARTER_US = 15 * 60 * 1_000_000
REPRICED_AT_ONCE = 500

TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
)
_COUNTED = ("requests", "unpriced", *TOKENS, "web_searches", "cost_micro")
_KEY = ("start_us", "project_key", "client", "agent", "model")
_SQL = (
    f"INSERT INTO usage_buckets ({', '.join((*_KEY, *_COUNTED))})"
    f" VALUES ({', '.join(['%s'] * (len(_KEY) + len(_COUNTED)))})"
    f" ON CONFLICT ({', '.join(_KEY)}) DO UPDATE SET "
    + ", ".join(f"{name} = usage_buckets.{name} + excluded.{name}" for name in _COUNTED)
)

_OF_SESSION = (
    *("iteration_count", "unpriced_count", "input_tokens", "output_tokens"),
    *("cache_read_tokens", "cache_write_tokens"),
)
_ADDED = ", ".join(f"{name} = {name} + %s" for name in _OF_SESSION)
_UNPRICED_SQL = f"UPDATE sessions SET ordinal = ordinal + 1, {_ADDED} WHERE key = %s"
_PRICED_SQL = (
    f"UPDATE sessions SET ordinal = ordinal + 1, {_ADDED}, cost_micro = COALESCE(cost_micro, 0) + %s"
    " WHERE key = %s"
)


class Counted(Protocol):
    """A model call as it is counted: a stored row, or one that is about to be."""

    session_id: int
    project_key: int
    client: str
    agent: str
    model: str
    at_us: int
    cost_micro: int | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_5m_tokens: int | None
    cache_write_1h_tokens: int | None
    web_searches: int
    tool_tokens: int
    thinking_tokens: int


class Priced(Counted, Protocol):
    """A model call as it is priced."""

    provider: str
    speed: str
    source: str
    told_micro: int | None


class Ledger:
    """What a write adds to sessions and quarters."""

    def __init__(self) -> None:
        self._buckets: defaultdict[tuple[int, int, str, str, str], Counter[str]] = defaultdict(Counter)
        self._sessions: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._priced: set[int] = set()

    def add(self, row: Counted, sign: int = 1) -> None:
        """Count a model call in (``sign`` 1) or out (-1)."""
        start_us = row.at_us - row.at_us % QUARTER_US
        bucket = self._buckets[start_us, row.project_key, row.client, row.agent, row.model]
        session = self._sessions[row.session_id]
        for name, number in _numbers(row).items():
            if number:
                bucket[name] += sign * number
                session[name] += sign * number
        if row.cost_micro is not None:
            self._priced.add(row.session_id)

    def store(self) -> None:
        """Call it last in a write: everybody's usage meets here."""
        for key in sorted(self._sessions):
            _add_to_session(key, self._sessions[key], priced=key in self._priced)
        rows: list[tuple[int | str, ...]] = [
            (*key, *(self._buckets[key][name] for name in _COUNTED))
            for key in sorted(self._buckets)
            if any(self._buckets[key].values())
        ]
        if rows:
            with connection.cursor() as cursor:
                cursor.executemany(_SQL, rows)


def usage_of(row: Counted) -> Usage | None:
    """The tokens of a stored call; None where they are unknown."""
    if row.output_tokens is None:
        return None
    return Usage(
        row.input_tokens or 0,
        row.output_tokens,
        row.cache_read_tokens or 0,
        row.cache_write_5m_tokens or 0,
        row.cache_write_1h_tokens or 0,
        row.web_searches,
        row.tool_tokens,
        row.thinking_tokens,
    )


def price_of(row: Priced, book: PriceBook) -> Price:
    """One's own price; else the library's, else the client's own reckoning.

    Of a call that only telemetry told of, the client knows better: telemetry tells neither for
    how long the written cache is kept nor of searches. A writer who tells a cost means it.
    """
    found = book.price(
        usage_of(row), model=row.model, provider=row.provider, at_us=row.at_us, speed=row.speed
    )
    better = row.source in (Source.OTLP, Source.API) and found.by != OWN
    if row.told_micro is not None and (better or found.micro is None):
        return Price(row.told_micro, TOLD)
    return found


@write
def recount(*, session_keys: Collection[int]) -> None:
    """Count the calls of sessions anew whose project or agent became known after them."""
    ledger = Ledger()
    rows = Iteration.objects.filter(session__in=session_keys, copied=False)
    changed: list[Iteration] = []
    for row in rows.select_related("session").order_by("key"):
        named = (row.session.project_id or 0, row.session.client, row.session.agent_name)
        if (row.project_key, row.client, row.agent) != named:
            ledger.add(row, -1)
            row.project_key, row.client, row.agent = named
            ledger.add(row)
            changed.append(row)
    Iteration.objects.bulk_update(changed, ["project_key", "client", "agent"])
    ledger.store()


def reprice(model: str) -> int:
    """Price all calls of a model anew, some in each turn of the writer; how many changed."""
    changed, last = 0, 0
    while True:
        count, last = _reprice_some(model=model, after=last)
        changed += count
        if not last:
            return changed


@write
def _reprice_some(*, model: str, after: int) -> tuple[int, int]:
    """How many changed, and the key to go on after (0: all are done)."""
    book, ledger = PriceBook(), Ledger()
    rows = Iteration.objects.filter(model=model, key__gt=after, copied=False)
    found = list(rows.order_by("key")[:REPRICED_AT_ONCE])
    changed: list[Iteration] = []
    for row in found:
        price = price_of(row, book)
        if (price.micro, price.by) != (row.cost_micro, row.priced_by):
            ledger.add(row, -1)
            row.cost_micro, row.priced_by = price
            ledger.add(row)
            changed.append(row)
    Iteration.objects.bulk_update(changed, ["cost_micro", "priced_by"])
    ledger.store()
    return len(changed), found[-1].key if len(found) == REPRICED_AT_ONCE else 0


def _numbers(row: Counted) -> dict[str, int]:
    return {
        "requests": 1,
        "unpriced": int(row.cost_micro is None),
        **{name: getattr(row, name) or 0 for name in TOKENS},
        "web_searches": row.web_searches,
        "cost_micro": row.cost_micro or 0,
    }


def _add_to_session(key: int, numbers: Counter[str], *, priced: bool) -> None:
    if not any(numbers.values()):
        return
    added = (
        numbers["requests"],
        numbers["unpriced"],
        numbers["input_tokens"],
        numbers["output_tokens"],
        numbers["cache_read_tokens"],
        numbers["cache_write_5m_tokens"] + numbers["cache_write_1h_tokens"],
    )
    with connection.cursor() as cursor:
        if priced:
            cursor.execute(_PRICED_SQL, (*added, numbers["cost_micro"], key))
        else:
            cursor.execute(_UNPRICED_SQL, (*added, key))
    if priced and numbers["unpriced"] > 0:
        # Its last price was taken away: unknown is not 0.
        Session.objects.filter(key=key, unpriced_count=F("iteration_count")).update(cost_micro=None)
