"""Calls that only look, one after another, drawn as one row of a timeline that opens."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sessions_app.queries.calls import tool_word
from sessions_app.views.drawing import Drawn
from sessions_app.vocabulary import CallState

FOLD_FROM = 4
"""So many in a row are folded."""
LOOKING = frozenset(
    {
        *("read", "read_file", "notebookread", "view", "view_file", "read_many_files", "read_text_file"),
        *("grep", "glob", "ls", "search", "search_files", "search_file_content", "list_directory", "list"),
    }
)


@dataclass(frozen=True, slots=True)
class Fold:
    rows: Sequence[Drawn]

    @property
    def fold(self) -> bool:
        return True

    @property
    def row(self) -> object:
        """The first one: where the fold stands and whose it is."""
        return self.rows[0].row

    @property
    def key(self) -> str:
        return f"fold-{self.rows[0].row.key}"

    @property
    def last_us(self) -> int:
        return self.rows[-1].row.at_us

    @property
    def words(self) -> str:
        """Which tools, the most frequent first: ``Grep ×4, Read ×3``."""
        names = Counter(drawn.row.item.call.name for drawn in self.rows)
        return ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in names.most_common())

    @property
    def took_us(self) -> int:
        """Of all of them; side by side they took less."""
        return sum(drawn.row.item.call.duration_us or 0 for drawn in self.rows)


def folded(drawn: Iterable[Drawn], seen_key: str | None) -> list[Drawn | Fold]:
    """The same rows with runs of looking folded; none reaches over a day or the line of what was seen."""
    made: list[Drawn | Fold] = []
    run: list[Drawn] = []

    def close() -> None:
        made.extend([Fold(tuple(run))] if len(run) >= FOLD_FROM else run)
        run.clear()

    for one in drawn:
        follows = bool(run) and run[-1].row.session_key == one.row.session_key
        if run and not (follows and one.day is None and one.row.key != seen_key and _looks(one)):
            close()
        if _looks(one):
            run.append(one)
        else:
            made.append(one)
    close()
    return made


def _looks(drawn: Drawn) -> bool:
    row = drawn.row
    if row.kind != "call" or row.item.child is not None or row.item.state != CallState.DONE:
        return False
    return tool_word(row.item.call.name) in LOOKING
