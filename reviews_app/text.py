"""How the texts of a finding are read: a target's path and line, a headline, a fix as diff, code or prose."""

import re

from contextdash.cleaning import one_line
from contextdash.limits import TITLE_CHARS

HEADLINE_CHARS = 140
HEAD_CHARS = 2_000
"""What lists read of a finding: a text may have 8 MiB, and a page has 50 of them."""
SHOWN_CHARS = 50_000
"""How much of a text a page draws; the rest is a link away."""
READ_CHARS = 20_000
"""How much of a text is looked at to tell what it is."""

# What a path is followed by: :12, :12:5, :12-20, #L12, #L12-L20.
_LINE = re.compile(r"(?::(?P<line>\d{1,9})(?:[:-]\d{1,9})*|#L(?P<mark>\d{1,9})(?:-L?\d{1,9})?)$")
_SENTENCE = re.compile(r"[.!?…](?=\s)|\n")
_MARKS = re.compile(r"^[#>*\s]+")
_DIFF_HEAD = re.compile(r"^(?:diff --git |@@ -\d)", re.MULTILINE)
_CODE = re.compile(
    r"[;{}]\s*$|=>|\)\s*:?\s*$|^\s*(?:def|class|import|from|return|const|let|var|public|private|async|await)\b"
    r"|^(?:if|for|while)\b.*[:({]|^[ \t]{2,}\S",
    re.MULTILINE,
)
_PROSE = re.compile(r"[A-Z][a-z]+ [a-z]|[-*] ")


def split_target(target: str) -> tuple[str, int | None]:
    """A target's path, and its line where it names one. Text only: it is never opened."""
    found = _LINE.search(target)
    if found is None or not found.start():
        return target, None
    return target[: found.start()], int(found["line"] or found["mark"])


def path_of(target: str) -> str:
    """The target without its line, cut to what an index can hold."""
    return split_target(target)[0][:TITLE_CHARS]


def headline(finding: str) -> tuple[str, str]:
    """(one line that names the finding, the rest of it, which may be empty)."""
    text = _MARKS.sub("", finding[:HEAD_CHARS])
    end = _SENTENCE.search(text)
    first = text[: end.start()] if end else text
    if not first.strip() or len(first) > HEADLINE_CHARS:
        return one_line(text, HEADLINE_CHARS) or "No text", finding
    rest = finding[finding.index(first) + len(first) :]
    return one_line(first, HEADLINE_CHARS), rest.lstrip(".!?…").strip()


def is_diff(text: str) -> bool:
    """Whether it is a unified diff, or a bare list of removed and added lines."""
    start = text[:READ_CHARS]
    if _DIFF_HEAD.search(start):
        return True
    signs = {line[:1] for line in start.splitlines() if line.strip()}
    return {"+", "-"} <= signs <= {"+", "-", " "}


def kind_of(text: str) -> str:
    """``diff``, ``code`` or ``prose`` (Markdown, which fenced code is too)."""
    if is_diff(text):
        return "diff"
    start = text[:READ_CHARS]
    if "```" not in start and not _PROSE.match(start) and _CODE.search(start):
        return "code"
    return "prose"
