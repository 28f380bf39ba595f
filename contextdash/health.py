"""Whether this process can do its work; asked by supervisors and load balancers."""

from django.db import DatabaseError, connection


def ready() -> bool:
    """The database answers and has been migrated."""
    try:
        with connection.cursor() as cursor:
            # The newest thing that every request needs; an index-only look at one row.
            cursor.execute("SELECT 1 FROM sessions LIMIT 1")
    except DatabaseError:
        return False
    return True
