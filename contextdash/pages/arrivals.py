"""Can one trust the pages: what has arrived from which client, what could not be stored, what still waits.

Connect shows all of it, Today the short form.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.db import connection
from django.db.models import Count, Max, QuerySet

from contextdash import background
from contextdash.models import Token, User
from contextdash.pages.snippets import NAMES
from contextdash.prepared import Prepared, totals
from sessions_app.models import Quarantined, SpoolReport
from sessions_app.queries import hooks

WINDOW = timedelta(days=30)
SHORT_WINDOW = timedelta(days=7)
TOKENS = 100
REFUSALS = 5
SPOOLS = 20
UNKNOWN = 8


@dataclass(frozen=True, slots=True)
class Arrival:
    """What one client delivered in a window."""

    name: str
    client: hooks.Client
    last_event: str

    @property
    def unknown(self) -> Sequence[hooks.Delivery]:
        """Its events that are not known, most deliveries first."""
        found = [event for event in self.client.events if event.unknown]
        return sorted(found, key=lambda event: -event.unknown)[:UNKNOWN]


@dataclass(frozen=True, slots=True)
class Sizes:
    database: int
    log: int


@dataclass(frozen=True, slots=True)
class Health:
    """Of one window, ``days`` long."""

    days: int
    arrivals: Sequence[Arrival]
    refusals: Sequence[Quarantined]
    spools: Sequence[SpoolReport]
    """Those where something waits or was lost, the fullest first."""
    reports: int
    """How many spools have ever reported."""
    late: Sequence[background.TaskState]
    """What the server does in the background and is behind with, or fails at."""
    sizes: Sizes | None


def health(window: timedelta) -> Health:
    found = list(SpoolReport.objects.order_by("-waiting", "-at_us")[: SPOOLS * 5])
    return Health(
        days=window.days,
        arrivals=arrivals(window),
        refusals=refusals(),
        spools=[report for report in found if report.waiting or report.dropped][:SPOOLS],
        reports=len(found),
        late=[state for state in background.states() if state.late],
        sizes=sizes(),
    )


def arrivals(window: timedelta) -> list[Arrival]:
    """Every client that has delivered, the newest first."""
    return [
        Arrival(
            name=NAMES.get(client.name, client.name),
            client=client,
            last_event=max(client.events, key=lambda event: event.last_us).event,
        )
        for client in hooks.deliveries(window)
    ]


def tokens_of(user: User) -> QuerySet[Token]:
    """The person's live tokens; an owner sees everybody's."""
    rows = Token.objects.filter(revoked_at=None).select_related("owner")
    return rows if user.is_owner else rows.filter(owner=user)


def refusals() -> Sequence[Quarantined]:
    return list(Quarantined.objects.defer("body").order_by("-id")[:REFUSALS])


def sizes() -> Sizes | None:
    """Of the SQLite files, in bytes; None where the database is a server."""
    if connection.vendor != "sqlite":
        return None
    path = Path(str(connection.settings_dict["NAME"]))
    return Sizes(database=_size(path), log=_size(path.with_name(f"{path.name}-wal")))


def health_version() -> str:
    """Changes with every delivery and refusal, and with what the spools tell."""
    told = _NEWEST_REPORT.one()
    return f"{hooks.hooks_version()}-{told[0] or 0 if told else 0}"


_NEWEST_REPORT = Prepared(lambda: totals(SpoolReport.objects.all(), newest=Max("at_us")))


def version() -> str:
    """Changes with the health, and with every token made, used or revoked."""
    tokens = Token.objects.aggregate(n=Count("id"), used=Max("last_used_at"), revoked=Max("revoked_at"))
    seen = ".".join(value.isoformat() if value else "0" for value in (tokens["used"], tokens["revoked"]))
    return f"{health_version()}-{tokens['n']}-{seen}"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
