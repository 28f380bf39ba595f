"""What the frame around every page shows: navigation with counts, projects, freshness.

Everything is read when a template first asks for it, so fragments and the admin pay for nothing.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from contextdash.pages import frame
from contextdash.pages.needs import Needs
from contextdash.pages.snippets import base_of, connect_command
from contextdash.prepared import Prepared, given_text
from sessions_app.models import Project

SWITCHER_PROJECTS = 30


_NAMES = ("name", "slug")
_PROJECTS = Prepared(
    lambda: Project.objects.filter(archived_at=None).values_list(*_NAMES)[:SWITCHER_PROJECTS]
)
_PROJECT = Prepared(lambda: Project.objects.filter(slug=given_text("slug")).values_list(*_NAMES))


class ProjectName(NamedTuple):
    name: str
    slug: str


@dataclass(frozen=True, slots=True)
class Entry:
    slug: str
    title: str
    url: str
    second: bool
    """On a phone it is behind "More"."""
    counted: str = ""
    count: int = 0

    @property
    def icon(self) -> str:
        return self.slug

    @property
    def person(self) -> bool:
        return self.slug == "today"


type Groups = tuple[tuple[Entry, ...], ...]

_GROUPS: tuple[tuple[tuple[str, str], ...], ...] = (
    (
        ("today", "Today"),
        ("sessions", "Sessions"),
        ("board", "Board"),
        ("reviews", "Reviews"),
        ("decisions", "Decisions"),
        ("plans", "Plans"),
        ("mistakes", "Mistakes"),
    ),
    (("usage", "Usage"), ("standup", "Stand-up"), ("hooks", "Hooks")),
    (("connect", "Connect"), ("settings", "Settings"), ("admin", "Admin")),
)
_COUNTED = {"today": "need a person", "sessions": "working", "reviews": "open findings"}
_OF_OWNERS = {"admin"}
_OF_WRITERS = {"settings"}
_FIRST = {"today", "sessions", "board", "reviews"}


class Shell:
    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._slug = request.GET.get("project", "").strip()[:100]

    @cached_property
    def projects(self) -> list[ProjectName]:
        return [ProjectName(*row) for row in _PROJECTS.rows()]

    @cached_property
    def project(self) -> ProjectName | None:
        """The one that the page is filtered by."""
        if not self._slug:
            return None
        known = [project for project in self.projects if project.slug == self._slug]
        found = known or [ProjectName(*row) for row in _PROJECT.rows(slug=self._slug)]
        return found[0] if found else None

    @cached_property
    def query(self) -> str:
        """What a link keeps of the address: ``?project=slug``, or nothing."""
        return f"?{urlencode({'project': self._slug})}" if self._slug else ""

    @cached_property
    def needs(self) -> Needs:
        return Needs(self._slug or None)

    @cached_property
    def freshness(self) -> frame.Freshness:
        return frame.freshness(self.needs)

    @cached_property
    def nav(self) -> Groups:
        counts = self.freshness.counts
        numbers = {"today": counts.needs, "sessions": counts.working, "reviews": counts.findings}
        staff = getattr(self._request.user, "is_staff", False)
        writes = getattr(self._request.user, "may_write", False)
        return tuple(
            tuple(
                self._entry(slug, title, numbers.get(slug, 0))
                for slug, title in group
                if (staff or slug not in _OF_OWNERS) and (writes or slug not in _OF_WRITERS)
            )
            for group in _GROUPS
        )

    @property
    def connect_command(self) -> str:
        """Connects Claude Code to this server, with the token that Connect makes."""
        return connect_command("claude-code", base=base_of(self._request))

    @property
    def zone(self) -> str:
        return timezone.localtime().strftime("%Z")

    def _entry(self, slug: str, title: str, count: int) -> Entry:
        link = f"{_url(slug)}{'' if slug == 'admin' else self.query}"
        return Entry(slug, title, link, slug not in _FIRST, _COUNTED.get(slug, ""), count)


def shell(request: HttpRequest) -> dict[str, Any]:
    return {"shell": shell_of(request)}


def shell_of(request: HttpRequest) -> Shell:
    """The frame's facts of this request, the same for its view and its templates."""
    known = getattr(request, "contextdash_shell", None)
    if known is None:
        known = request.contextdash_shell = Shell(request)  # type: ignore[attr-defined]
    assert isinstance(known, Shell)  # noqa: S101 - nothing else sets it
    return known


def _url(slug: str) -> str:
    return reverse("admin:index" if slug == "admin" else slug)
