"""Files that a session and its subagents read and changed, by path; and what happened to one of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BigIntegerField, Case, Count, Max, Q, QuerySet, Sum, Value, When

from contextdash.cleaning import clean
from contextdash.limits import FILE_PATH_CHARS
from sessions_app.models import ToolCall, TouchedFile
from sessions_app.queries.calls import CallDetail, call_detail
from sessions_app.queries.session import Family
from sessions_app.vocabulary import CallState, FileAction

PAGE_FILES = 100
PAGE_TOUCHES = 25
TEXT_CHARS = 200
CHANGES = (FileAction.WRITE, FileAction.EDIT, FileAction.DELETE)


@dataclass(frozen=True, slots=True)
class FileRow:
    path: str
    shown: str
    """Without the session's folder."""
    reads: int
    writes: int
    edits: int
    deletes: int
    failed: int
    """Calls that named it and failed."""
    last_us: int
    agents: Sequence[str]


@dataclass(frozen=True, slots=True)
class FilePage:
    rows: Sequence[FileRow]
    next: str | None
    """The path after which more follow."""


@dataclass(frozen=True, slots=True)
class Touch:
    call: ToolCall
    action: str
    agent: str
    detail: CallDetail


@dataclass(frozen=True, slots=True)
class TouchPage:
    path: str
    rows: Sequence[Touch]
    next: int | None
    """The key of the call after which more follow."""


def file_page(family: Family, *, changed: bool = False, text: str = "", after: str = "") -> FilePage:
    """PAGE_FILES files in order of their paths; ``changed`` leaves out what was only read.

    Raises nothing: a text that no path has finds nothing.
    """
    rows = _of(family)
    if text:
        rows = rows.filter(path__contains=clean(text)[:TEXT_CHARS])
    if after:
        rows = rows.filter(path__gt=clean(after)[:FILE_PATH_CHARS])
    if changed:
        rows = rows.filter(action__in=CHANGES)
    found = rows.order_by("path").values_list("path", flat=True).distinct()[: PAGE_FILES + 1]
    paths = list(found)
    kept = paths[:PAGE_FILES]
    return FilePage(_rows(family, kept), kept[-1] if len(paths) > PAGE_FILES else None)


def touches(family: Family, path: str, *, changed: bool = False, after: int = 0) -> TouchPage:
    """What calls did to one file, in order, with what went in and came out; PAGE_TOUCHES after a call."""
    rows = _of(family).filter(path=clean(path)[:FILE_PATH_CHARS], call__gt=after)
    if changed:
        rows = rows.filter(action__in=CHANGES)
    found = list(
        rows.order_by("call", "action").values_list("call_id", "action", "session_id")[: PAGE_TOUCHES + 1]
    )
    names = {session.key: session.agent_name for session in family.all}
    made = []
    for key, action, session in found[:PAGE_TOUCHES]:
        detail = call_detail(family, key)
        made.append(Touch(detail.call, action, names[session], detail))
    return TouchPage(path, made, found[PAGE_TOUCHES - 1][0] if len(found) > PAGE_TOUCHES else None)


def _of(family: Family) -> QuerySet[TouchedFile]:
    return TouchedFile.objects.filter(session__in=family.keys)


def _counted(*actions: str) -> Count:
    return Count("key", filter=Q(action__in=actions))


def _rows(family: Family, paths: Sequence[str]) -> list[FileRow]:
    if not paths:
        return []
    failed = Case(
        When(call__state__in=(CallState.FAILED, CallState.DENIED), then=Value(1)),
        default=Value(0),
        output_field=BigIntegerField(),
    )
    found = (
        _of(family)
        .filter(path__in=paths)
        .order_by()
        .values("path", "session_id")
        .annotate(
            reads=_counted(FileAction.READ),
            writes=_counted(FileAction.WRITE),
            edits=_counted(FileAction.EDIT),
            deletes=_counted(FileAction.DELETE),
            failed=Sum(failed),
            last_us=Max("call__started_us"),
        )
    )
    names = {session.key: session.agent_name for session in family.all}
    by_path: dict[str, list[Mapping[str, Any]]] = {path: [] for path in paths}
    for row in found:
        by_path[row["path"]].append(row)
    folder = family.root.workspace.rstrip("/") + "/"
    return [_row(path, path.removeprefix(folder), rows, names) for path, rows in by_path.items() if rows]


def _row(path: str, shown: str, rows: Sequence[Mapping[str, Any]], names: dict[int, str]) -> FileRow:
    def total(name: str) -> int:
        return sum(row[name] or 0 for row in rows)

    return FileRow(
        path=path,
        shown=shown,
        reads=total("reads"),
        writes=total("writes"),
        edits=total("edits"),
        deletes=total("deletes"),
        failed=total("failed"),
        last_us=max(row["last_us"] or 0 for row in rows),
        agents=list(dict.fromkeys(names[row["session_id"]] for row in rows)),
    )
