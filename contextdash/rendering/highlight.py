"""Source code as safe HTML with the highlighter's classes (``.hl`` in app.css)."""

from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

from contextdash.rendering.ansi import plain

HIGHLIGHT_CHARS = 100_000
"""Longer code is shown without colours: a lexer takes about a second for a megabyte."""

HIGHLIGHT_LINE_CHARS = 5_000
"""A longer line is generated, not written; its colours help nobody."""

_FORMATTER = HtmlFormatter(nowrap=True)


def code(text: str, language: str = "") -> SafeString:
    """Safe HTML of code in a language (``python``) or of a file (``src/app.py``).

    Put it inside ``<pre class="code hl">``.
    """
    text = plain(text)
    lexer = _lexer(language)
    if lexer is None or len(text) > HIGHLIGHT_CHARS or _longest_line(text) > HIGHLIGHT_LINE_CHARS:
        return escape(text)
    return mark_safe(highlight(text, lexer, _FORMATTER))  # noqa: S308 - Pygments escapes what it wraps


def _longest_line(text: str) -> int:
    return max(map(len, text.split("\n")))


@lru_cache(maxsize=200)
def _known(language: str) -> Lexer | None:
    try:
        if "." in language or "/" in language:
            return get_lexer_for_filename(language.rsplit("/", 1)[-1], stripnl=False, ensurenl=False)
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _lexer(language: str) -> Lexer | None:
    name = language.strip()
    # The name comes from an agent: only short ones are looked up, by suffix where it is a path.
    if not name or len(name) > 255:
        return None
    if "/" in name or "." in name:
        base = name.rsplit("/", 1)[-1]
        name = base if "." not in base else "file." + base.rsplit(".", 1)[-1]
    return _known(name.lower()) if len(name) <= 40 else None
