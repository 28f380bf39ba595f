"""Where apps register what a session's page and export show of theirs, so that these need not import them.

An app calls these in ``AppConfig.ready``; order of registration is order on the page.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from sessions_app.models import Session


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a timeline: when, what it is, and the object that its template draws.

    ``template`` is included with ``item`` and ``row`` and draws what stands right of the lanes, such as
    ``<div class="ev-row ev-row--wide"><div class="note">…</div></div>``; the time, the lanes and the anchor
    are drawn around it. Give it a text that is already cut: a page carries 120 rows.
    """

    at_us: int
    kind: str
    """turn, call, message, plan, decision, mistake, finding, story, hook or note; picks the template."""
    key: str
    """Its anchor on the page, such as ``d-118``; with ``at_us`` it makes the order total."""
    agent: str
    """Which lane it is on: an agent's name, or ``you``."""
    item: Any
    template: str
    session_key: int | None = None
    """Of the child session whose lane it is on; None for the page's own session."""
    failed: bool = False
    """Whether "only failures" keeps it."""
    person: bool = False
    """Whether it waits for a person now: the row gets the wash."""


@dataclass(frozen=True, slots=True)
class Window:
    """Rows with ``start_us <= at_us < end_us``: the newest ``limit`` of them, newest last.

    ``only_failed`` asks for rows that tell of a failure, and no others.
    """

    start_us: int
    end_us: int
    limit: int
    only_failed: bool = False


type Rows = Callable[[Session, Window], Sequence[Row]]


@dataclass(frozen=True, slots=True)
class Panel:
    """A tab of the session page; ``template`` is included with what ``context`` gives, and ``session``."""

    slug: str
    title: str
    template: str
    context: Callable[[Session], dict[str, Any]]
    count: Callable[[Session], int]
    styles: str = ""
    """The static file that its template and its rows in the timeline are drawn with, if any."""
    raw: bool = False
    """What few look for: the ledger's page leads to it, and it has no tab."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A noun that leaves with the export of a session."""

    noun: str
    """Its key in the JSON export, such as ``decisions``."""
    title: str
    """Its heading in the Markdown export."""
    rows: Callable[[Session], QuerySet[Any]]
    """All of a session; they are read in order of their primary key."""
    head: str
    """The field that a row is headed by in Markdown."""
    words: tuple[str, ...] = ()
    """Short fields, written in one line."""
    texts: tuple[str, ...] = ()
    """Long fields, each written as a block."""


@dataclass(slots=True)
class Registry:
    timeline: dict[str, Rows] = field(default_factory=dict)
    panels: dict[str, Panel] = field(default_factory=dict)
    exported: dict[str, Exported] = field(default_factory=dict)

    def add_timeline(self, kind: str, rows: Rows) -> None:
        self.timeline[kind] = rows

    @property
    def styles(self) -> list[str]:
        """The style sheets of all panels, each once."""
        return list(dict.fromkeys(panel.styles for panel in self.panels.values() if panel.styles))

    def add_export(self, exported: Exported) -> None:
        self.exported[exported.noun] = exported

    def add_panel(self, panel: Panel) -> None:
        self.panels[panel.slug] = panel


registry = Registry()
