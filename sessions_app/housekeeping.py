"""This app's background tasks: purges, retention, the end of undo, counts and refused bodies of long ago."""

from datetime import timedelta

from contextdash import clock
from contextdash.background import Task, register
from contextdash.writer import write
from sessions_app.importers import uploading
from sessions_app.models import HookBucket, Quarantined
from sessions_app.services import ending, logs, purging, resting

BUCKETS_KEPT = timedelta(days=90)
"""How long the Hooks page knows how many deliveries there were."""
QUARANTINED_KEPT = timedelta(days=90)
"""How long a body that could not be stored is kept to look at."""
SLICE_BUCKETS = 500
SLICE_BODIES = 50
"""Of up to 64 KiB each."""


@write
def forget_buckets() -> bool:
    """True while older ones are left."""
    before_us = clock.to_us(clock.now() - BUCKETS_KEPT)
    old = HookBucket.objects.filter(start_us__lt=before_us).order_by("start_us")
    keys = list(old.values_list("pk", flat=True)[:SLICE_BUCKETS])
    return HookBucket.objects.filter(pk__in=keys).delete()[0] == SLICE_BUCKETS


@write
def forget_quarantined() -> bool:
    """True while older ones are left."""
    old = Quarantined.objects.filter(at__lt=clock.now() - QUARANTINED_KEPT).order_by("at")
    keys = list(old.values_list("pk", flat=True)[:SLICE_BODIES])
    return Quarantined.objects.filter(pk__in=keys).delete()[0] == SLICE_BODIES


def register_tasks() -> None:
    uploading.register_task()
    register(Task("retention", "Looking for payloads that are too old", 3600, purging.open_retention))
    register(Task(purging.TASK, "Erasing what was purged", 5, purging.finish_purges))
    register(Task("resting", "Ending sessions that only history tells of", 60, resting.end_resting))
    register(Task("undo", "Ending the day in which a deletion can be undone", 600, ending.end_undo))
    register(Task("hook-buckets", "Forgetting old counts of deliveries", 3600, forget_buckets))
    register(Task("logs", "Dropping the oldest lines of the log", 600, logs.forget_logs))
    register(Task("quarantined", "Forgetting old refused deliveries", 3600, forget_quarantined))
