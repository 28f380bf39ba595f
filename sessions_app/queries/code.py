"""What telemetry counted of code: commits, pull requests, lines, and how often a client was started."""

from dataclasses import dataclass

from django.db.models import QuerySet, Sum

from sessions_app.models import CodeCount, Session

COLUMNS = ("starts", "commits", "pull_requests", "lines_added", "lines_removed")


@dataclass(frozen=True, slots=True)
class Code:
    starts: int
    commits: int
    pull_requests: int
    lines_added: int
    lines_removed: int

    def __bool__(self) -> bool:
        """Whether anything was written; that a client was started alone says nothing of code."""
        return bool(self.commits or self.pull_requests or self.lines_added or self.lines_removed)


def code_of(session: Session) -> Code:
    """Of one session; telemetry counts what its subagents write as its own."""
    return _sum(CodeCount.objects.filter(session=session.key))


def code_between(start_us: int, end_us: int, *, projects: list[int] | None) -> Code:
    """Of all sessions, or of those of projects (0: of none), in quarters of an hour from ``start_us`` on."""
    rows = CodeCount.objects.filter(start_us__gte=start_us, start_us__lt=end_us)
    if projects is not None:
        known = [key for key in projects if key]
        mine = rows.filter(session__project__in=known)
        rows = mine | rows.filter(session__project=None) if 0 in projects else mine
    return _sum(rows)


def _sum(rows: "QuerySet[CodeCount]") -> Code:
    found = rows.order_by().aggregate(**{name: Sum(name) for name in COLUMNS})
    return Code(**{name: found[name] or 0 for name in COLUMNS})
