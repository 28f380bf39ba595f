"""Empty the database through the ledger's own door.

Django's ``flush`` would meet the triggers that guard events, so the purge is written down first, as for
every other erasure. Tests that need real transactions come through here too.
"""

from typing import Any

from django.core.management.commands.flush import Command as DjangoFlush
from django.db import connections

from contextdash import clock
from sessions_app.models import Event, Purge

EVERYTHING_US = 2**63 - 1


class Command(DjangoFlush):
    def handle(self, **options: Any) -> None:
        using = options["database"]
        if "events" in connections[using].introspection.table_names():
            Purge.objects.using(using).create(
                received_before_us=EVERYTHING_US, reason="flush", started_at=clock.now()
            )
            if connections[using].vendor == "sqlite":
                events = Event.objects.using(using)
                events._raw_delete(using)
        super().handle(**options)
