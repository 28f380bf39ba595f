"""Drawing a row of the session list, fifty times a page."""

from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from contextdash.rendering import states
from contextdash.rendering.ansi import plain
from sessions_app import figures
from sessions_app.queries.transcript_steps import Cost
from sessions_app.views.listed import ListedSession

register = template.Library()

REMEMBERED_ROWS = 2048
"""About 3 MB. The list polls every second, and most of its rows are as they were."""


@register.simple_tag
@lru_cache(REMEMBERED_ROWS)
def session_row(row: ListedSession) -> SafeString:
    """The row's HTML: a function of nothing but the row, so the same row is drawn once."""
    return render_to_string("sessions/_session_row.html", {"row": row})


@register.simple_tag
def spent(cost: Cost, model: str = "", took_us: int = 0) -> str:
    """The figures of model calls in one line; escaped by the template."""
    return figures.figures(
        model=plain(model),
        given=cost.given,
        output=cost.output,
        cached=cost.cached,
        cost_micro=cost.micro,
        took_us=took_us,
    )


@register.simple_tag
def small_money(micro: int | None) -> str:
    return figures.small_money(micro)


@register.simple_tag
def agent_slot(name: str) -> int:
    """The number of an agent's colour."""
    return states.agent_slot(name)


@register.simple_tag
def letters(name: str) -> str:
    return states.monogram(name)
