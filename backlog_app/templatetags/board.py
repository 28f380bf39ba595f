"""Drawing a card, hundreds of times a page."""

from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from backlog_app.queries.board import Card

register = template.Library()

REMEMBERED_CARDS = 4096
"""About 4 MB. A board polls every second, and most of its cards are as they were."""


@register.simple_tag
@lru_cache(REMEMBERED_CARDS)
def card(c: Card, may_write: bool) -> SafeString:
    """The card's HTML: a function of the card and of who reads it, so the same card is drawn once."""
    return render_to_string("board/_card.html", {"c": c, "may_write": may_write})
