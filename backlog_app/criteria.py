"""Acceptance criteria: a story's text read as a list of items that can be ticked."""

import re
from dataclasses import dataclass

from contextdash.cleaning import shorten

ITEMS_MOST = 200
"""Lines beyond this stay in the story's text only."""
ITEM_CHARS = 2000

_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,4}[.)])\s+(?:\[(?P<tick>[ xX])\]\s+)?(?P<text>\S.*)")
_STEP = re.compile(r"\s*(?P<text>(?:given|when|then|and|but)\b.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Item:
    text: str
    ticked: bool = False
    """Whether the text itself says so: ``- [x] …``."""


def parse(text: str) -> list[Item]:
    """List items and GIVEN, WHEN, THEN lines; where there are none of these, every line that says something.

    A line below an item that is indented goes on with it; headings and prose around a list are no criteria.
    """
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    items: list[Item] = []
    open_item = False
    for line in lines:
        found = _ITEM.fullmatch(line) or _STEP.fullmatch(line)
        if found:
            items.append(Item(found["text"].strip(), (found.groupdict().get("tick") or "") in ("x", "X")))
        elif open_item and line[0] in " \t":
            items[-1] = Item(f"{items[-1].text} {line.strip()}", items[-1].ticked)
        open_item = bool(found) or (open_item and line[0] in " \t")
    if not items:
        items = [Item(line.strip()) for line in lines if not line.lstrip().startswith("#")]
    return [Item(shorten(item.text, ITEM_CHARS), item.ticked) for item in items[:ITEMS_MOST]]
