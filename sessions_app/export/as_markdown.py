"""The Markdown export: what people read, in order. Texts of agents are written as code blocks or escaped, so
that whatever shows the file shows them as text: no HTML, no links, no terminal escapes.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from heapq import merge
from typing import Any

from django.db.models import QuerySet

from contextdash import clock
from contextdash.cleaning import one_line
from contextdash.limits import TITLE_CHARS
from contextdash.rendering.ansi import plain
from contextdash.rendering.numbers import duration, money
from contextdash.rendering.numbers import size as in_bytes
from sessions_app.export.reading import family, in_slices, nouns
from sessions_app.figures import figures, sum_or_none
from sessions_app.models import Iteration, Session, ToolCall, Turn
from sessions_app.queries.calls import Part, call_detail
from sessions_app.queries.session import Family
from sessions_app.registry import Exported

_SPECIAL = re.compile(r"([\\`*_\[\]<>&#|~!$])")
_TICKS = re.compile(r"`+")


def pieces(session: Session) -> Iterator[str]:
    for place, one in enumerate(family(session)):
        yield ("\n---\n\n" if place else "") + f"# {'Subagent: ' if place else ''}{inline(_title(one))}\n\n"
        yield _facts(one)
        yield from _turns(one)
        for noun in nouns():
            yield from _rows(noun, one)


def inline(text: object) -> str:
    """A text on one line that means nothing to Markdown."""
    return _SPECIAL.sub(r"\\\1", one_line(plain(str(text)), TITLE_CHARS))


def block(text: str, language: str = "") -> str:
    """A text as a code block whose fence nothing in it can end."""
    shown = plain(text).rstrip("\n")
    longest = max((len(run) for run in _TICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}\n\n"


def _title(session: Session) -> str:
    return session.title or (session.user_request or "")[:200] or session.id


def _facts(session: Session) -> str:
    facts = {
        "Session": session.id,
        "Agent": session.agent_name,
        "Client": session.client,
        "Model": session.model,
        "Project": session.project.name if session.project else "",
        "Folder": session.workspace,
        "Branch": session.branch or "",
        "Host": session.host,
        "Started": _time(session.started_at),
        "Ended": _time(session.ended_at) if session.ended_at else "",
        "Status": session.status,
        "Tool calls": f"{session.call_count}, {session.failed_count} failed",
        "Model calls": str(session.iteration_count or ""),
        "Tokens": _tokens(session),
        "Cost": money(session.cost_micro) if session.iteration_count else "",
    }
    return "".join(f"- {name}: {inline(value)}\n" for name, value in facts.items() if value) + "\n"


def _tokens(session: Session) -> str:
    if not session.iteration_count:
        return ""
    given = session.input_tokens + session.cache_read_tokens + session.cache_write_tokens
    return f"{given:,} in, {session.output_tokens:,} out"


def _turns(session: Session) -> Iterator[str]:
    home = Family(session)
    rows = Turn.objects.filter(session=session).order_by("number").prefetch_related("runs")
    for turn in in_slices(rows):
        yield f"## Turn {turn.number}, {_us(turn.started_us)}\n\n"
        if turn.prompt:
            yield "Prompt:\n\n" + block(turn.prompt)
        runs = list(turn.runs.all())
        calls = in_slices(_timed(ToolCall.objects.filter(run__in=runs)), size=100)
        thoughts = _thoughts(Iteration.objects.filter(run__in=runs))
        said = ""
        for step in _merged(thoughts, calls):
            said = (step.prose or said) if isinstance(step, Iteration) else said
            yield from _thought(step) if isinstance(step, Iteration) else _call(home, step)
        for run in runs:
            if run.answer and run.answer.strip() != said.strip():
                yield "Answer:\n\n" + block(run.answer, "markdown")
            if run.error:
                yield "Error:\n\n" + block(run.error)
    calls = in_slices(_timed(ToolCall.objects.filter(session=session, run=None)), size=100)
    thoughts = _thoughts(Iteration.objects.filter(session=session, run=None))
    for place, step in enumerate(_merged(thoughts, calls)):
        if not place:
            yield "## Outside of turns\n\n"
        yield from _thought(step) if isinstance(step, Iteration) else _call(home, step)


def _thoughts(rows: QuerySet[Iteration]) -> Iterator[Iteration]:
    return in_slices(rows.order_by("at_us", "key"))


def _merged(thoughts: Iterator[Iteration], calls: Iterator[ToolCall]) -> Iterator[Iteration | ToolCall]:
    """In order of time; both are already."""
    both: tuple[Iterator[Iteration | ToolCall], ...] = (thoughts, calls)
    return iter(merge(*both, key=_started))


def _started(step: Iteration | ToolCall) -> int:
    return step.at_us if isinstance(step, Iteration) else step.started_us


def _thought(row: Iteration) -> Iterator[str]:
    """What a model call thought and said, and its figures."""
    given = sum_or_none(
        [row.input_tokens, row.cache_read_tokens, row.cache_write_5m_tokens, row.cache_write_1h_tokens]
    )
    line = figures(
        model=row.model,
        given=given,
        output=row.output_tokens,
        cached=row.cache_read_tokens,
        cost_micro=row.cost_micro,
        took_us=row.ended_us - row.at_us,
    )
    yield f"### Model call: {inline(line)}\n\n"
    if row.thinking:
        yield "Thinking:\n\n" + block(row.thinking)
    if row.prose:
        yield "Said:\n\n" + block(row.prose, "markdown")


def _timed(calls: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
    return calls.order_by("started_us", "key")


def _call(home: Family, call: ToolCall) -> Iterator[str]:
    took = f", {duration(call.duration_us)}" if call.duration_us is not None else ""
    yield f"### {inline(call.name)}: {inline(call.state)}{took}\n\n"
    detail = call_detail(home, call.key)
    if detail.purged and call.summary:
        yield f"{inline(call.summary)}\n\n"
    if detail.error:
        yield block(detail.error)
    for part in detail.parts:
        yield _part(part)
    if detail.purged:
        yield "What went in or came out has been erased; the summary stays.\n\n"


def _part(part: Part) -> str:
    told = f"{inline(part.title or 'Content')}:"
    if part.cut:
        told += f" (the first 64 KB of {in_bytes(part.size)}; the JSON export has all of it)"
    language = {"diff": "diff", "json": "json", "markdown": "markdown"}.get(part.form, "")
    return f"{told}\n\n{block(part.text, language)}"


def _rows(noun: Exported, session: Session) -> Iterator[str]:
    rows = in_slices(noun.rows(session).order_by("pk"))
    for place, row in enumerate(rows):
        if not place:
            yield f"## {noun.title}\n\n"
        yield f"### {inline(getattr(row, noun.head))}\n\n"
        words = [_word(getattr(row, name)) for name in noun.words]
        yield ", ".join(word for word in words if word) + "\n\n"
        yield from _texts(row, noun.texts)


def _texts(row: Any, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        text = getattr(row, name)
        if text:
            yield f"{name.replace('_', ' ').capitalize()}:\n\n{block(text)}"


def _word(value: object) -> str:
    if isinstance(value, datetime):
        return _time(value)
    return "" if value is None else inline(value)


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _us(us: int) -> str:
    return _time(clock.from_us(us))
