"""Untrusted Markdown as safe HTML: no raw HTML, no images, links only to the web, and cleaned once more."""

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from contextdash.cleaning import cut_bytes
from contextdash.limits import KIB
from contextdash.rendering.highlight import code
from contextdash.rendering.links import REL
from contextdash.rendering.numbers import size
from contextdash.rendering.text import visible

RENDER_BYTES = 200 * KIB
"""The longest Markdown that is rendered; of a longer text the rest is left out, and the reader is told."""

_SCHEMES = {"http", "https", "mailto"}
_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "a", "span", "div", "input"),
    *("h3", "h4", "h5", "h6", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
}  # fmt: skip
_CLEANER = nh3.Cleaner(
    tags=_TAGS,
    attributes={
        "a": {"href", "title", "class"},
        "span": {"class"},
        "code": {"class"},
        "pre": {"class", "tabindex", "role", "aria-label"},
        "div": {"class", "tabindex", "role", "aria-label"},
        "li": {"class"},
        "ol": {"start"},
        "th": {"class"},
        "td": {"class"},
        "input": {"disabled", "checked", "aria-label"},
    },
    tag_attribute_values={"input": {"type": {"checkbox"}}},
    url_schemes=_SCHEMES,
    link_rel=REL,
)


def markdown(text: str) -> SafeString:
    """Safe HTML; put it inside ``<div class="prose" dir="auto">``."""
    text = visible(text)
    shown = cut_bytes(text, RENDER_BYTES)
    html = _CLEANER.clean(_MARKDOWN.render(shown))
    if len(shown) < len(text):
        whole = size(len(text.encode()))
        html += f'<p class="meta">The first {size(RENDER_BYTES)} of {whole} are shown.</p>'
    return mark_safe(html)  # noqa: S308 - sanitised above


def _fence(content: str, language: str, _: str) -> str:
    return (
        '<pre class="code code--wrap hl" tabindex="0" role="region" aria-label="Code">'
        f"{code(content.removesuffix(chr(10)), language)}</pre>\n"
    )


def _allowed(url: str) -> bool:
    """Web, mail and relative addresses; the last are shown as text by _only_web_links."""
    scheme, colon, _ = url.partition(":")
    if not colon or any(mark in scheme for mark in "/?#."):
        return True
    return scheme.strip().lower() in _SCHEMES


def _safe_inlines(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "heading_open" or token.type == "heading_close":
            # The page has the first two levels.
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
        elif token.type in ("th_open", "td_open"):
            align = str(token.attrGet("style") or "").removeprefix("text-align:")
            token.attrs = {"class": "num"} if align == "right" else {}
        elif token.type == "inline" and token.children:
            token.children = _only_web_links(token.children)


def _only_web_links(children: list[Token]) -> list[Token]:
    """Images become links to them, links that lead nowhere become their text and their address."""
    made: list[Token] = []
    open_links: list[str | None] = []  # of each open link the address to write after it, or None
    for token in children:
        if token.type == "link_open":
            href = str(token.attrGet("href") or "")
            web = href.lower().startswith(("http://", "https://", "mailto:"))
            open_links.append(None if web else href)
            if web:
                token.attrSet("class", "external")
                made.append(token)
        elif token.type == "link_close":
            href_text = open_links.pop()
            made.append(token if href_text is None else _text(f" ({href_text})" if href_text else ""))
        elif token.type == "image":
            made.extend(_image(token, inside_link=None in open_links))
        else:
            made.append(token)
    return made


def _image(token: Token, *, inside_link: bool) -> list[Token]:
    source = str(token.attrGet("src") or "")
    label = _text(f"image: {token.content or source}")
    if inside_link or not source.lower().startswith(("http://", "https://")):
        return [label]
    start = Token("link_open", "a", 1, attrs={"href": source, "class": "external"})
    return [start, label, Token("link_close", "a", -1)]


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _task_lists(state: StateCore) -> None:
    """``- [ ] text`` gets a checkbox that cannot be ticked."""
    for at in range(2, len(state.tokens)):
        token = state.tokens[at]
        first = token.children[0] if token.type == "inline" and token.children else None
        if first is None or first.type != "text" or state.tokens[at - 2].type != "list_item_open":
            continue
        mark = first.content[:4].lower()
        if mark in ("[ ] ", "[x] "):
            first.content = first.content[4:]
            box = Token("checkbox", "input", 0, meta={"done": mark == "[x] "})
            token.children = [box, *(token.children or [])]
            state.tokens[at - 2].attrSet("class", "task")


def _made() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "highlight": _fence}).enable(["table", "strikethrough"])
    made.validateLink = _allowed  # type: ignore[method-assign]
    made.core.ruler.push("task_lists", _task_lists)
    made.core.ruler.push("safe_inlines", _safe_inlines)
    rules = made.renderer.rules  # type: ignore[attr-defined]
    rules["checkbox"] = lambda tokens, at, *_: (
        '<input type="checkbox" disabled checked aria-label="done"> '
        if tokens[at].meta["done"]
        else '<input type="checkbox" disabled aria-label="not done"> '
    )
    rules["table_open"] = lambda *_: (
        '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'
    )
    rules["table_close"] = lambda *_: "</table></div>"
    rules["code_block"] = lambda tokens, at, *_: _fence(tokens[at].content, "", "")
    return made


_MARKDOWN = _made()
