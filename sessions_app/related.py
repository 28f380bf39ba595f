"""Where apps register what of theirs is tied to a noun of another, so that its page need not import them.

An app calls ``relations.add`` in ``AppConfig.ready``; order of registration is order on the page.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Thing:
    """One row that is tied to another."""

    ref: str
    """What a form names it by: its number."""
    number: str
    """How people name it: R-204."""
    title: str
    url: str
    state: str
    severity: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """The rows of one kind that are tied to one row, and where more are tied or a tie is cut.

    Both addresses take a POST with the fields of ``sent``, the row as ``ref`` and ``next``.
    """

    kind: str
    """finding, story or decision."""
    title: str
    things: Sequence[Thing]
    link_url: str
    unlink_url: str
    sent: dict[str, str]


type Read = Callable[[int], Related]


@dataclass(slots=True)
class Relations:
    _known: dict[str, list[Read]] = field(default_factory=lambda: defaultdict(list))

    def add(self, noun: str, read: Read) -> None:
        self._known[noun].append(read)

    def of(self, noun: str, pk: int) -> list[Related]:
        """Of the noun's (decision, finding) row ``pk``."""
        return [read(pk) for read in self._known[noun]]


relations = Relations()
