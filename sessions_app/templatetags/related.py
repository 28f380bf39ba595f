"""``{% related "decision" decision.pk next=address %}``: what is tied to a row, and forms to tie more."""

from typing import Any

from django import template
from django.template import Context

from sessions_app.related import relations

register = template.Library()


@register.inclusion_tag("memory/_related.html", takes_context=True)
def related(context: Context, noun: str, pk: int, next: str) -> dict[str, Any]:  # noqa: A002 - the form's field
    return {
        "groups": relations.of(noun, pk),
        "next": next,
        "user": context.get("user"),
        "csrf_token": context.get("csrf_token"),
    }
