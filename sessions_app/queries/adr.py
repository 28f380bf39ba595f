"""Decisions as architecture decision records: one Markdown file each, one or all in a zip."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from contextdash.cleaning import one_line
from contextdash.rendering.ansi import plain
from contextdash.rendering.states import state_of
from sessions_app.models import Decision
from sessions_app.queries.decisions import Filters

EXPORTED = 5_000
"""The most decisions in one export, newest first; a filter narrows it down."""
SLUG_CHARS = 50
_ZIP_BEGINS = datetime(1980, 1, 1, tzinfo=UTC)
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def exported(filters: Filters) -> Iterator[Decision]:
    """What an export holds, oldest first, as records are numbered; read in parts, since texts are long."""
    newest = Decision.objects.filter(filters.condition()).order_by("-ts", "-id").values("id")[:EXPORTED]
    rows = Decision.objects.filter(id__in=newest).select_related("session", "project", "superseded_by")
    return rows.prefetch_related("supersedes").order_by("ts", "id").iterator(chunk_size=100)


def file_name(decision: Decision) -> str:
    """``0118-unique-index-in-postgresql.md``: never a path, whatever the decision says."""
    slug = _NOT_SLUG.sub("-", decision.choice[:200].lower()).strip("-")[:SLUG_CHARS].strip("-")
    return f"{decision.pk:04d}-{slug or 'decision'}.md"


def as_record(decision: Decision) -> str:
    """The decision in the form of an ADR: status, context, decision."""
    lines = [
        f"# {decision.pk}. {one_line(plain(decision.choice), 120)}",
        "",
        f"Date: {decision.ts:%Y-%m-%d}",
        "",
        "## Status",
        "",
        state_of(decision.status).word,
    ]
    later = decision.superseded_by
    if later is not None:
        lines += ["", f"Superseded by [{_title(later)}]({file_name(later)})"]
    for earlier in sorted(decision.supersedes.all(), key=lambda row: row.pk):
        lines += ["", f"Supersedes [{_title(earlier)}]({file_name(earlier)})"]
    lines += [
        "",
        "## Context",
        "",
        f"Topic: {one_line(plain(decision.topic), 200)}",
        f"Decided by: {decision.agent_name}",
    ]
    if decision.project is not None:
        lines.append(f"Project: {decision.project.name}")
    if decision.session is not None:
        lines.append(f"Session: {decision.session.title or decision.session.id} ({decision.session.id})")
    lines += ["", plain(decision.rationale) or "No reason was written down.", ""]
    lines += ["## Decision", "", plain(decision.choice), ""]
    return "\n".join(lines)


def as_page(decisions: Iterable[Decision]) -> str:
    """All of them as one Markdown text."""
    return "\n---\n\n".join(as_record(decision) for decision in decisions)


def as_zip(decisions: Iterable[Decision]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for decision in decisions:
            at = max(decision.ts, _ZIP_BEGINS)
            moment = (at.year, at.month, at.day, at.hour, at.minute, at.second)
            entry = zipfile.ZipInfo(f"decisions/{file_name(decision)}", moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, as_record(decision))
    return made.getvalue()


def _title(decision: Decision) -> str:
    # Brackets would end the link's text.
    words = one_line(plain(decision.choice), 80).replace("[", "(").replace("]", ")")
    return f"{decision.pk}. {words}"
