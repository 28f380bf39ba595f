"""What has arrived from which client, and what could not be stored: the live half of Connect."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.db import connection
from django.db.models import Count, Max, QuerySet

from contextdash.models import Token, User
from contextdash.pages.snippets import NAMES
from sessions_app.models import Quarantined
from sessions_app.queries import hooks

WINDOW = timedelta(days=30)
TOKENS = 100
REFUSALS = 5


@dataclass(frozen=True, slots=True)
class Arrival:
    """What one client delivered in WINDOW."""

    name: str
    client: hooks.Client
    last_event: str


@dataclass(frozen=True, slots=True)
class Sizes:
    database: int
    log: int


def arrivals() -> list[Arrival]:
    """Every client that has delivered, the newest first."""
    return [
        Arrival(
            name=NAMES.get(client.name, client.name),
            client=client,
            last_event=max(client.events, key=lambda event: event.last_us).event,
        )
        for client in hooks.deliveries(WINDOW)
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


def version() -> str:
    """Changes with every delivery, refusal, and every token made, used or revoked."""
    tokens = Token.objects.aggregate(n=Count("id"), used=Max("last_used_at"), revoked=Max("revoked_at"))
    seen = ".".join(value.isoformat() if value else "0" for value in (tokens["used"], tokens["revoked"]))
    return f"{hooks.hooks_version()}-{tokens['n']}-{seen}"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
