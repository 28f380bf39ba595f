"""Where apps register what a session page shows of theirs, so that it need not import them.

An app calls these in ``AppConfig.ready``; order of registration is order on the page.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sessions_app.models import Session


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a timeline: when, what it is, and the object that its template draws."""

    at_us: int
    kind: str
    """turn, call, message, plan, decision, mistake, finding, story, hook or note; picks the template."""
    key: str
    """Its anchor on the page, such as ``d-118``; with ``at_us`` it makes the order total."""
    agent: str
    """Which lane it is on: an agent's name, or ``you``."""
    item: Any
    template: str


@dataclass(frozen=True, slots=True)
class Window:
    """Rows with ``start_us <= at_us < end_us``, at most ``limit`` of them, newest last."""

    start_us: int
    end_us: int
    limit: int


type Rows = Callable[[Session, Window], Sequence[Row]]


@dataclass(frozen=True, slots=True)
class Panel:
    """A tab of the session page."""

    slug: str
    title: str
    template: str
    context: Callable[[Session], dict[str, Any]]
    count: Callable[[Session], int]


@dataclass(slots=True)
class Registry:
    timeline: dict[str, Rows] = field(default_factory=dict)
    panels: dict[str, Panel] = field(default_factory=dict)

    def add_timeline(self, kind: str, rows: Rows) -> None:
        self.timeline[kind] = rows

    def add_panel(self, panel: Panel) -> None:
        self.panels[panel.slug] = panel


registry = Registry()
