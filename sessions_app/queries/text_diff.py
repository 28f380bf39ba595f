"""What changed between two texts, line by line, at a bounded cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT = 3
"""Unchanged lines shown around a change."""
COMPARED_LINES = 2_000
"""Longer middles (after what both texts begin and end with) are shown as replaced whole, not compared."""
SHOWN_LINES = 3_000
LINE_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Line:
    """One row: the old line and the new one, either may be missing; ``kind`` is same, add, del or change."""

    kind: str
    old_number: int | None = None
    old: str = ""
    new_number: int | None = None
    new: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Unchanged lines that are left out."""

    count: int
    kind: str = "gap"


@dataclass(frozen=True, slots=True)
class Diff:
    rows: Sequence[Line | Gap]
    added: int
    removed: int
    cut: bool
    """There is more than SHOWN_LINES."""

    @property
    def inline(self) -> list[Line | Gap]:
        """The same in one column: of each change first what is removed, then what is added."""
        made: list[Line | Gap] = []
        added: list[Line] = []
        for row in self.rows:
            if isinstance(row, Line) and row.kind in ("change", "del", "add"):
                if row.old_number is not None:
                    made.append(Line("del", row.old_number, row.old))
                if row.new_number is not None:
                    added.append(Line("add", None, "", row.new_number, row.new))
                continue
            made += [*added, row]
            added = []
        return made + added


type _Step = tuple[str, int, int, int, int]


def compare(old: str, new: str) -> Diff:
    before, after = old.splitlines(), new.splitlines()
    steps = _steps(before, after)
    added = sum(j2 - j1 for tag, _, _, j1, j2 in steps if tag != "equal")
    removed = sum(i2 - i1 for tag, i1, i2, _, _ in steps if tag != "equal")
    rows: list[Line | Gap] = []
    for row in _rows(steps, before, after):
        if len(rows) == SHOWN_LINES:
            return Diff(rows, added, removed, cut=True)
        rows.append(row)
    return Diff(rows, added, removed, cut=False)


def _steps(before: list[str], after: list[str]) -> list[_Step]:
    shorter = min(len(before), len(after))
    head = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    left = shorter - head
    tail = next((n for n in range(left) if before[-1 - n] != after[-1 - n]), left)
    a, b = before[head : len(before) - tail], after[head : len(after) - tail]
    steps: list[_Step] = [("equal", 0, head, 0, head)] if head else []
    if len(a) <= COMPARED_LINES and len(b) <= COMPARED_LINES:
        found = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        steps += [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in found]
    else:
        steps.append(("replace", head, head + len(a), head, head + len(b)))
    if tail:
        steps.append(("equal", len(before) - tail, len(before), len(after) - tail, len(after)))
    return steps


def _rows(steps: list[_Step], before: list[str], after: list[str]) -> Iterator[Line | Gap]:
    for at, (tag, i1, i2, j1, j2) in enumerate(steps):
        if tag != "equal":
            yield from _changed(i1, i2, j1, j2, before, after)
            continue
        lead = 0 if at == 0 else CONTEXT
        trail = 0 if at == len(steps) - 1 else CONTEXT
        hidden = (i2 - i1) - lead - trail
        for n in range(i2 - i1):
            if hidden > 0 and n == lead:
                yield Gap(hidden)
            if hidden <= 0 or n < lead or n >= lead + hidden:
                yield Line("same", i1 + n + 1, _cut(before[i1 + n]), j1 + n + 1, _cut(after[j1 + n]))


def _changed(i1: int, i2: int, j1: int, j2: int, before: list[str], after: list[str]) -> Iterator[Line]:
    for n in range(max(i2 - i1, j2 - j1)):
        has_old, has_new = i1 + n < i2, j1 + n < j2
        kind = "change" if has_old and has_new else "del" if has_old else "add"
        yield Line(
            kind,
            i1 + n + 1 if has_old else None,
            _cut(before[i1 + n]) if has_old else "",
            j1 + n + 1 if has_new else None,
            _cut(after[j1 + n]) if has_new else "",
        )


def _cut(line: str) -> str:
    return line if len(line) <= LINE_CHARS else line[: LINE_CHARS - 1] + "…"
