"""The core's own background tasks: what is forgotten after its time, and counts written down."""

from datetime import timedelta

from contextdash import clock
from contextdash.background import Task, register
from contextdash.db import database_file, pragma
from contextdash.models import Receipt, SigninLink
from contextdash.services.masked_counts import write_counts
from contextdash.writer import write

RECEIPTS_KEPT = timedelta(days=1)
"""A post with an ``Idempotency-Key`` that is repeated later happens again."""
LINKS_KEPT = timedelta(days=1)
"""How long a sign-in link is remembered after it has run out, so that "used already" can be told."""
SLICE_ROWS = 500
"""Small rows forgotten in one step: some milliseconds."""
SLICE_PAGES = 200
"""Free pages that SQLite gives back to the file system in one step."""
FREE_PAGES = 1000
"""So many free pages (4 MB) stay in the file for what is written next."""


@write
def forget_receipts() -> bool:
    """True while older ones are left."""
    old = Receipt.objects.filter(at__lt=clock.now() - RECEIPTS_KEPT).order_by("at").values("pk")[:SLICE_ROWS]
    return Receipt.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()[0] == SLICE_ROWS


@write
def forget_signin_links() -> bool:
    """True while older ones are left."""
    old = SigninLink.objects.filter(expires_at__lt=clock.now() - LINKS_KEPT).order_by("pk")
    keys = list(old.values_list("pk", flat=True)[:SLICE_ROWS])
    return SigninLink.objects.filter(pk__in=keys).delete()[0] == SLICE_ROWS


def give_back_pages() -> bool:
    """SQLite: what purges left free leaves the file, in slices; True while more is free than is kept."""
    if database_file() is None or pragma("auto_vacuum") != 2 or pragma("freelist_count") <= FREE_PAGES:
        return False
    return _give_back()


@write
def _give_back() -> bool:
    before = pragma("freelist_count")
    from django.db import connection

    with connection.cursor() as cursor:
        # Each row that it returns is one page moved: all must be fetched.
        cursor.execute(f"PRAGMA incremental_vacuum({SLICE_PAGES})").fetchall()
    after = pragma("freelist_count")
    return bool(FREE_PAGES < after < before)


def register_tasks() -> None:
    register(Task("receipts", "Forgetting receipts", 600, forget_receipts))
    register(Task("signin-links", "Forgetting sign-in links", 3600, forget_signin_links))
    register(Task("free-pages", "Giving back free pages", 300, give_back_pages))
    register(Task("masked-counts", "Counting masked secrets", 10, write_counts, everywhere=True))
