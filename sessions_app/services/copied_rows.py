"""Model calls and tool calls of runs, copied by the database itself, since every hook waits meanwhile."""

# ruff: noqa: S608 - the text is made of our own names and of %s marks

from collections.abc import Mapping
from itertools import batched

from django.db import connection

from sessions_app.models import Iteration, ToolCall
from sessions_app.vocabulary import CallState

PAIRS = 5_000
"""Of runs in one statement; databases take 32,766 values."""

_NEW_IDENTITY = {"sqlite": "randomblob(16)", "postgresql": "uuid_send(gen_random_uuid())"}


def copy_iterations(runs: Mapping[int, int], session_key: int) -> None:
    """``runs`` gives the copy's run for each of the original's. Nothing else meets a copy: it has an identity
    of its own and no request id.
    """
    changed = {
        "session_id": str(int(session_key)),
        "run_id": "pairs.new_run",
        "identity": _NEW_IDENTITY[connection.vendor],
        "request_id": "''",
        "copied": "TRUE",
    }
    _copy(Iteration, runs, changed)


def copy_calls(runs: Mapping[int, int], session_key: int, now_us: int) -> None:
    """Subagents stay with the original; what still runs there is over here."""
    open_ = f"old.state = '{CallState.PREPARED.value}'"
    changed = {
        "session_id": str(int(session_key)),
        "run_id": "pairs.new_run",
        "child_id": "NULL",
        "state": f"CASE WHEN {open_} THEN '{CallState.INTERRUPTED.value}' ELSE old.state END",
        "ended_us": f"CASE WHEN {open_} THEN {int(now_us)} ELSE old.ended_us END",
    }
    _copy(ToolCall, runs, changed)


def copy_touched_files(source_key: int, session_key: int) -> None:
    """Those of the calls that were copied: their own ids are the same in both sessions."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO touched_files (session_id, call_id, path, action)"
            " SELECT %s, made.key, file.path, file.action FROM touched_files file"
            " JOIN tool_calls old ON old.key = file.call_id"
            " JOIN tool_calls made ON made.session_id = %s AND made.call_id = old.call_id"
            " WHERE file.session_id = %s ORDER BY file.key",
            [session_key, session_key, source_key],
        )


def counterparts(runs: Mapping[int, int], iteration_keys: set[int]) -> dict[int, int]:
    """The copy of each of these model calls: those of a run were copied in the order of their keys."""
    if not iteration_keys:
        return {}
    wanted = set(Iteration.objects.filter(key__in=iteration_keys).values_list("run_id", flat=True))
    olds = _by_run([run for run in runs if run in wanted])
    news = _by_run([new for old, new in runs.items() if old in wanted])
    return {
        old: new
        for run, keys in olds.items()
        for old, new in zip(keys, news[runs[run]], strict=True)
        if old in iteration_keys
    }


def _by_run(runs: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for run, key in Iteration.objects.filter(run__in=runs).order_by("key").values_list("run_id", "key"):
        if run is not None:
            found.setdefault(run, []).append(key)
    return found


def _copy(
    model: type[Iteration] | type[ToolCall], runs: Mapping[int, int], changed: Mapping[str, str]
) -> None:
    """Every column as it is but those of ``changed``, which are SQL."""
    names = [str(field.column) for field in model._meta.concrete_fields if not field.primary_key]
    picked = ", ".join(changed.get(name, f"old.{name}") for name in names)
    table = model._meta.db_table
    with connection.cursor() as cursor:
        for pairs in batched(runs.items(), PAIRS):
            marks = ", ".join(["(%s, %s)"] * len(pairs))
            cursor.execute(
                f"WITH pairs (old_run, new_run) AS (VALUES {marks})"
                f" INSERT INTO {table} ({', '.join(names)}) SELECT {picked}"
                f" FROM {table} old JOIN pairs ON old.run_id = pairs.old_run ORDER BY old.key",
                [key for pair in pairs for key in pair],
            )
