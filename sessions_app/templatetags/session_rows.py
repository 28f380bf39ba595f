"""Drawing a row of the session list, fifty times a page."""

from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from sessions_app.views.listed import ListedSession

register = template.Library()

REMEMBERED_ROWS = 2048
"""About 3 MB. The list polls every second, and most of its rows are as they were."""


@register.simple_tag
@lru_cache(REMEMBERED_ROWS)
def session_row(row: ListedSession) -> SafeString:
    """The row's HTML: a function of nothing but the row, so the same row is drawn once."""
    return render_to_string("sessions/_session_row.html", {"row": row})
