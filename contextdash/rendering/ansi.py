"""Terminal output as safe HTML or plain text: colours become classes, all other control is undone.

A line is what a terminal would show last: carriage returns, backspaces and "erase line" are carried out,
cursor movement and whole-screen commands are dropped. Every pattern eats at least one character and never
looks back, so the time is linear in the text whatever it holds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from contextdash.rendering.links import REL
from contextdash.rendering.text import visible

_TOKEN = re.compile(
    r"(?P<csi>(?:\x1b\[|\x9b)(?P<params>[0-?]*)[ -/]*(?P<final>[@-~])?)"
    r"|(?P<osc>(?:\x1b\]|\x9d)(?P<command>[^\x07\x1b\x9c\n]*)(?:\x07|\x1b\\|\x9c)?)"
    r"|(?P<string>(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?)"
    r"|(?P<escape>\x1b[ -/]*[0-~]?)"
    r"|(?P<control>[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x8f\x91-\x97\x99-\x9a\x9c])"
    r"|(?P<newline>\n)"
    r"|(?P<text>[^\x00-\x08\x0a-\x1f\x7f-\x9f]+)"
)
_SPECIAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WEB = re.compile(r"https?://[!-~]{1,2000}")
_LINK = re.compile(r"8;[^;]*;(.*)")

# The sixteen colours that the classes t-f0 … t-f15 stand for; all others become the nearest of them.
_PALETTE = (
    (0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0),
    (0, 0, 170), (170, 0, 170), (0, 170, 170), (170, 170, 170),
    (85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85),
    (85, 85, 255), (255, 85, 255), (85, 255, 255), (255, 255, 255),
)  # fmt: skip
_FLAGS = {1: "b", 2: "d", 3: "i", 4: "u", 7: "v", 9: "s", 21: "u"}
_CLEARS = {22: "bd", 23: "i", 24: "u", 27: "v", 29: "s"}


class Style(NamedTuple):
    flags: str = ""
    fg: int | None = None
    bg: int | None = None
    href: str = ""

    def classes(self) -> str:
        names = [f"t-{flag}" for flag in self.flags]
        if self.fg is not None:
            names.append(f"t-f{self.fg}")
        if self.bg is not None:
            names.append(f"t-g{self.bg}")
        return " ".join(names)


PLAIN = Style()


@dataclass(slots=True)
class _Line:
    """The cells of one line and where the cursor is."""

    chars: list[str] = field(default_factory=list)
    styles: list[Style] = field(default_factory=list)
    cursor: int = 0

    def write(self, text: str, style: Style) -> None:
        end = self.cursor + len(text)
        self.chars[self.cursor : end] = text
        self.styles[self.cursor : end] = [style] * len(text)
        self.cursor = end

    def erase(self, mode: str) -> None:
        if mode == "2":
            self.chars.clear()
            self.styles.clear()
            self.cursor = 0
        elif mode in ("", "0"):
            del self.chars[self.cursor :]
            del self.styles[self.cursor :]

    def runs(self) -> Iterator[tuple[str, Style]]:
        start, styles = 0, self.styles
        for at in range(1, len(styles) + 1):
            if at == len(styles) or styles[at] is not styles[start]:
                yield "".join(self.chars[start:at]), styles[start]
                start = at


def ansi(text: str) -> SafeString:
    """Safe HTML of terminal text; put it inside ``<pre class="code">``."""
    text = visible(text)
    if not _SPECIAL.search(text):
        return escape(text)
    return mark_safe("".join(_html(run, style) for run, style in _runs(text)))  # noqa: S308 - escaped by _html


def plain(text: str) -> str:
    """The text without terminal control, as the terminal would have left it."""
    text = visible(text)
    if not _SPECIAL.search(text):
        return text
    return "".join(run for run, _ in _runs(text))


def _html(run: str, style: Style) -> str:
    body = escape(run)
    classes = style.classes()
    if style.href:
        css = f"external {classes}".rstrip()
        return f'<a class="{css}" href="{escape(style.href)}" rel="{REL}">{body}</a>'
    return f'<span class="{classes}">{body}</span>' if classes else str(body)


def _runs(text: str) -> Iterator[tuple[str, Style]]:
    line, style = _Line(), PLAIN
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "text":
                line.write(token[0], style)
            case "newline":
                yield from line.runs()
                yield "\n", PLAIN
                line = _Line()
            case "control":
                _control(line, token[0], style)
            case "csi" if token["final"] == "m":
                style = _sgr(style, token["params"])
            case "csi" if token["final"] == "K":
                line.erase(token["params"])
            case "osc":
                style = _linked(style, token["command"])
    yield from line.runs()


def _control(line: _Line, char: str, style: Style) -> None:
    if char == "\r":
        line.cursor = 0
    elif char == "\b":
        line.cursor = max(0, line.cursor - 1)
    elif char == "\t":
        line.write("\t", style)


def _linked(style: Style, command: str) -> Style:
    found = _LINK.fullmatch(command)
    if not found:
        return style
    return style._replace(href=found[1] if _WEB.fullmatch(found[1]) else "")


def _sgr(style: Style, params: str) -> Style:
    # More than 32 parameters are no colour that a program meant.
    codes = [int(part) if part.isdigit() and len(part) < 4 else 0 for part in re.split("[;:]", params)[:32]]
    at = 0
    while at < len(codes):
        code = codes[at]
        if code in (38, 48):
            color, at = _extended(codes, at)
            style = style._replace(fg=color) if code == 38 else style._replace(bg=color)
        else:
            style = _simple(style, code)
        at += 1
    return style


def _simple(style: Style, code: int) -> Style:
    if code == 0:
        return PLAIN._replace(href=style.href)
    if code in _FLAGS:
        return style._replace(flags="".join(sorted({*style.flags, _FLAGS[code]})))
    if code in _CLEARS:
        return style._replace(flags="".join(flag for flag in style.flags if flag not in _CLEARS[code]))
    if 30 <= code <= 37 or 90 <= code <= 97:
        return style._replace(fg=code - 30 if code < 90 else code - 82)
    if 40 <= code <= 47 or 100 <= code <= 107:
        return style._replace(bg=code - 40 if code < 100 else code - 92)
    if code == 39:
        return style._replace(fg=None)
    return style._replace(bg=None) if code == 49 else style


def _extended(codes: list[int], at: int) -> tuple[int | None, int]:
    """The colour of ``38;5;n`` or ``38;2;r;g;b`` at ``at``, and the place of its last number."""
    kind = codes[at + 1] if at + 1 < len(codes) else None
    if kind == 5 and at + 2 < len(codes):
        return _indexed(codes[at + 2]), at + 2
    if kind == 2 and at + 4 < len(codes):
        return _nearest(codes[at + 2], codes[at + 3], codes[at + 4]), at + 4
    return None, len(codes)


def _indexed(number: int) -> int:
    if number < 16:
        return number
    if number < 232:
        cube = number - 16
        red, green, blue = cube // 36, cube // 6 % 6, cube % 6
        return _nearest(*(level * 40 + 55 if level else 0 for level in (red, green, blue)))
    grey = (min(number, 255) - 232) * 10 + 8
    return _nearest(grey, grey, grey)


def _nearest(red: int, green: int, blue: int) -> int:
    return min(
        range(16),
        key=lambda n: (
            (_PALETTE[n][0] - red) ** 2 + (_PALETTE[n][1] - green) ** 2 + (_PALETTE[n][2] - blue) ** 2
        ),
    )
