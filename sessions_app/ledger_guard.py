"""The database's own guard of the ledger: no UPDATE of an Event at all, no DELETE without an open Purge; no
UPDATE of an entry in the journal of a tool operation.

Triggers are installed after every migrate and not in a migration: SQLite rebuilds a table for many schema
changes and silently drops its triggers with it.
"""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.db import connections

SQLITE = {
    "events_never_change": """
        CREATE TRIGGER events_never_change BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'events never change'); END
    """,
    "events_leave_by_purge": """
        CREATE TRIGGER events_leave_by_purge BEFORE DELETE ON events
        WHEN NOT EXISTS (
            SELECT 1 FROM purges WHERE finished_at IS NULL
            AND (session_key = OLD.session_id OR received_before_us > OLD.received_us)
        )
        BEGIN SELECT RAISE(ABORT, 'events leave by purge only'); END
    """,
    "journal_never_changes": """
        CREATE TRIGGER journal_never_changes BEFORE UPDATE ON tool_journal_events
        BEGIN SELECT RAISE(ABORT, 'journal entries never change'); END
    """,
}

POSTGRESQL = (
    """
    CREATE OR REPLACE FUNCTION guard_events() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' THEN
            RAISE EXCEPTION 'events never change' USING ERRCODE = 'integrity_constraint_violation';
        ELSIF TG_OP = 'TRUNCATE' THEN
            IF NOT EXISTS (
                SELECT 1 FROM purges WHERE finished_at IS NULL
                AND session_key IS NULL AND received_before_us >= 9223372036854775807
            ) THEN
                RAISE EXCEPTION 'events leave by purge only'
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NULL;
        ELSIF NOT EXISTS (
            SELECT 1 FROM purges WHERE finished_at IS NULL
            AND (session_key = OLD.session_id OR received_before_us > OLD.received_us)
        ) THEN
            RAISE EXCEPTION 'events leave by purge only' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN OLD;
    END $$
    """,
    "DROP TRIGGER IF EXISTS events_guard ON events",
    """
    CREATE TRIGGER events_guard BEFORE UPDATE OR DELETE ON events
        FOR EACH ROW EXECUTE FUNCTION guard_events()
    """,
    "DROP TRIGGER IF EXISTS events_guard_truncate ON events",
    """
    CREATE TRIGGER events_guard_truncate BEFORE TRUNCATE ON events
        FOR EACH STATEMENT EXECUTE FUNCTION guard_events()
    """,
    """
    CREATE OR REPLACE FUNCTION guard_journal() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'journal entries never change' USING ERRCODE = 'integrity_constraint_violation';
    END $$
    """,
    "DROP TRIGGER IF EXISTS journal_guard ON tool_journal_events",
    """
    CREATE TRIGGER journal_guard BEFORE UPDATE ON tool_journal_events
        FOR EACH ROW EXECUTE FUNCTION guard_journal()
    """,
)

TABLES = frozenset({"events", "tool_journal_events"})


def install(using: str = "default", **kwargs: Any) -> None:
    """Receiver of ``post_migrate``; safe to repeat."""
    connection = connections[using]
    if not set(connection.introspection.table_names()) >= TABLES:
        return  # a migration backwards
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for name, statement in SQLITE.items():
                cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
                cursor.execute(statement)
        else:
            for statement in POSTGRESQL:
                cursor.execute(statement)


def installed(using: str = "default") -> bool:
    connection = connections[using]
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            return set(SQLITE) <= {row[0] for row in cursor.fetchall()}
        cursor.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal")
        return {"events_guard", "events_guard_truncate", "journal_guard"} <= {
            row[0] for row in cursor.fetchall()
        }


def check_installed(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[checks.CheckMessage]:
    """System check: tables of the ledger without their guard."""
    return [
        checks.Error(
            "The ledger's triggers are missing: events could be changed or deleted.",
            hint="Run: contextdash migrate",
            id="contextdash.E010",
        )
        for alias in databases or []
        if set(connections[alias].introspection.table_names()) >= TABLES and not installed(alias)
    ]
