"""The navigation, drawn once for each set of counts."""

from functools import lru_cache
from typing import TYPE_CHECKING

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

if TYPE_CHECKING:
    from contextdash.pages.context import Groups

register = template.Library()

REMEMBERED = 128
"""About 2 MB. The counts change now and then, and most pages are drawn in between."""


@register.simple_tag
@lru_cache(REMEMBERED)
def navigation(groups: "Groups", current: str, query: str) -> SafeString:
    """A function of its arguments alone: groups of entries, the place of the page, what links keep."""
    return render_to_string("partials/_nav.html", {"groups": groups, "nav": current, "query": query})
