"""Plans: one entry a path, its versions, and what changed between two of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from contextdash.errors import NotFound
from contextdash.paging import Page, page
from contextdash.prepared import Prepared, given_text, newest_id
from contextdash.queries.history import newest_change
from sessions_app.models import Plan
from sessions_app.queries.belonging import belongs
from sessions_app.queries.texts import with_starts

AGENTS_OF = 1_000
VERSIONS = 200
"""The most versions that a plan's page lists."""


@dataclass(frozen=True, slots=True)
class Filters:
    session: str | None = None
    agent: str | None = None
    project: str | None = None
    path: str | None = None
    status: Sequence[str] = ()
    text: str | None = None

    def condition(self) -> Q:
        wanted = belongs(self.session, self.project)
        if self.agent:
            wanted &= Q(created_by=self.agent)
        if self.path:
            wanted &= Q(path=self.path)
        if self.status:
            wanted &= Q(status__in=list(self.status))
        if self.text:
            wanted &= Q(title__icontains=self.text) | Q(path__icontains=self.text)
        return wanted


def plan_list(filters: Filters, *, limit: int, cursor: str | None) -> Page[Plan]:
    """The newest version of each plan, newest first, without bodies."""
    return page(
        _visible().filter(filters.condition(), newest=True).defer("body_md"), limit=limit, cursor=cursor
    )


def plan_versions(filters: Filters, *, limit: int, cursor: str | None, chars: int) -> Page[Plan]:
    """Every version of every plan, newest first; bodies are read up to ``chars`` characters."""
    return page(
        with_starts(_visible().filter(filters.condition()), chars, "body_md"), limit=limit, cursor=cursor
    )


def plan_of(pk: int) -> Plan:
    """
    Raises:
        NotFound: there is none, or its session was deleted.
    """
    found = _visible().filter(pk=pk).first() if pk < 2**63 else None
    if found is None:
        raise NotFound(f"There is no plan {pk}.")
    return found


def versions_of(plan: Plan) -> list[Plan]:
    """The newest VERSIONS versions of the same path, newest first, without bodies."""
    rows = _visible().filter(plan_key=plan.plan_key).defer("body_md")
    return list(rows.order_by("-number")[:VERSIONS])


def version_of(plan: Plan, number: int) -> Plan:
    """
    Raises:
        NotFound: this plan has no version of that number.
    """
    found = _visible().filter(plan_key=plan.plan_key, number=number).first() if 0 < number < 2**31 else None
    if found is None:
        raise NotFound(f"This plan has no version {number}.")
    return found


def agents(project: str | None) -> list[str]:
    """Who made the newest AGENTS_OF plans."""
    return sorted({agent for (agent,) in _AGENTS.rows(bool(project), project=project)})


def _agents(of_project: bool) -> QuerySet[Plan, Any]:
    shown = belongs(None, given_text("project") if of_project else None)
    return _visible().filter(shown, newest=True).order_by("-ts", "-id").values_list("created_by")[:AGENTS_OF]


_AGENTS = Prepared(_agents)


def list_version() -> str:
    """Changes with every new version and every change of one."""
    return f"{newest_id(Plan)}.{newest_change()}"


def _visible() -> QuerySet[Plan]:
    return Plan.objects.select_related("session", "project").filter(session__deleted_at=None)
