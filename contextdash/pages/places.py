"""Addresses of other apps' pages."""

from django.urls import NoReverseMatch, reverse


def place(name: str, *args: object) -> str:
    """The address of a page, or "" where this server has none of that name."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""
