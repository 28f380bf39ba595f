"""What is known already of the model calls that a file or telemetry tells of: rows, sessions, runs."""

# ruff: noqa: S608 - the text is made of %s marks

from collections.abc import Collection, Iterable, Mapping, Sequence

from django.db import connection
from django.db.models import QuerySet

from sessions_app.importers.gathering import IterationSeen
from sessions_app.models import Iteration, Session
from sessions_app.vocabulary import Source


def by_request(
    seen: Mapping[bytes, IterationSeen], known: Mapping[bytes, Iteration]
) -> dict[bytes, Iteration]:
    """The rows of the other source's telling, by the identity of this one's."""
    named = {one.request_id: one for one in seen.values() if one.request_id}
    if not named:
        return {}
    from_telemetry = any(one.source == Source.OTLP for one in named.values())
    rows = Iteration.objects.filter(request_id__in=list(named))
    if not from_telemetry:
        rows = rows.filter(source=Source.OTLP)
    found: dict[bytes, Iteration] = {}
    for row in _any(rows, "session__parent", "session__forked_from", "run__turn"):
        one = named[row.request_id]
        session = row.session
        # A fork's file holds the calls of its source, and may have been read first.
        related = [session, session.parent, session.forked_from if from_telemetry else None]
        ids = {other.id for other in related if other is not None}
        if one.root_id in ids and not (from_telemetry and one.identity in known):
            found[one.identity] = row
    return found


def by_identity(identities: Collection[bytes]) -> dict[bytes, Iteration]:
    """The rows that are known; mostly there are none. Each part of a file asks, so the ORM does not."""
    marks = ", ".join(["%s"] * len(identities))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT key FROM iterations WHERE identity IN ({marks})", list(identities))
        keys = [key for (key,) in cursor.fetchall()]
    if not keys:
        return {}
    rows = Iteration.objects.filter(pk__in=keys).select_related("session", "run__turn")
    return {bytes(row.identity): row for row in rows}


def _any(rows: QuerySet[Iteration], *related: str) -> Sequence[Iteration]:
    """The rows with what is related. Mostly there are none, and to ask for that takes a tenth of the time."""
    keys = list(rows.order_by().values_list("pk", flat=True))
    return list(Iteration.objects.filter(pk__in=keys).select_related(*related)) if keys else []


def sessions_of(ids: Iterable[str]) -> dict[str, Session]:
    """The sessions by their ids, with what a model call's row is told of them."""
    needed = ("id", "project_id", "client", "agent_id", "agent_name", "model", "deleted_at")
    return {row.id: row for row in Session.objects.filter(id__in=list(ids)).only(*needed)}


def newest_runs(pairs: Iterable[tuple[int, str]]) -> dict[tuple[int, str], int]:
    """The key of the newest run of each turn that is known, by (session key, turn id)."""
    wanted = set(pairs)
    if not wanted:
        return {}
    marks = ", ".join(["(%s, %s)"] * len(wanted))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT t.session_id, t.turn_id, MAX(r.key) FROM (VALUES {marks}) AS w"
            " JOIN turns t ON t.session_id = w.column1 AND t.turn_id = w.column2"
            " JOIN runs r ON r.turn_id = t.key GROUP BY t.session_id, t.turn_id",
            [part for pair in wanted for part in pair],
        )
        return {(session, turn): run for session, turn, run in cursor.fetchall()}
