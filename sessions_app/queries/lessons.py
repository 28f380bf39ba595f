"""A mistake's lesson as a Markdown file, with the head that agents look for."""

from contextdash.cleaning import one_line
from contextdash.rendering.ansi import plain
from sessions_app.models import Mistake


def lesson(mistake: Mistake) -> str:
    """The file's text; what nobody has written down says so."""
    where = [f"Agent: {mistake.agent_name}", f"Category: {mistake.category}"]
    if mistake.session_id is not None:
        where.append(f"Session: {mistake.session_id}")
    evidence = f"contextdash mistake M-{mistake.pk}"
    lines = [
        f"# Lesson: {one_line(plain(mistake.summary), 120)}",
        "",
        "## Metadata",
        "",
        f"- PatternId: {mistake.cause_key or f'M-{mistake.pk}'}",
        "- PatternVersion: 1",
        "- Status: active",
        "- Supersedes: none",
        f"- CreatedAt: {mistake.ts:%Y-%m-%d}",
        f"- LastValidatedAt: {mistake.ts:%Y-%m-%d}",
        f"- ValidationEvidence: {evidence}",
        "",
        "## Task Context",
        "",
        *(f"- {one_line(plain(line), 300)}" for line in where),
    ]
    for heading, body in (
        ("Mistake", mistake.summary),
        ("Root Cause Analysis", mistake.root_cause),
        ("Resolution", mistake.fix),
        ("Preventive Actions", mistake.lesson_md),
    ):
        lines += ["", f"## {heading}", "", plain(body or "").strip() or "Not written down yet."]
    return "\n".join([*lines, ""])
