"""The older system's clean database, loaded through the API as its importer would."""

import sqlite3
from pathlib import Path
from typing import Any

CLEAN = Path(__file__).parent / "data" / "mediatorlite" / "clean.sqlite"

ENDPOINTS = {
    "sessions": "sessions/ensure",
    "agent_messages": "messages",
    "plans": "plans",
    "decisions": "decisions",
    "mistakes": "mistakes",
    "reviews": "reviews",
    "sprint_backlog": "backlog",
}
_UNSENT = {"id", "started_at", "ended_at", "status"}
"""Of a session: what ``ensure`` does not take."""


def load(api: Any, *tables: str) -> dict[str, dict[int, int]]:
    """Post the rows of these tables in order; per table, which id of ours is which of theirs."""
    source = sqlite3.connect(f"file:{CLEAN}?immutable=1", uri=True)
    source.row_factory = sqlite3.Row
    ids: dict[str, dict[int, int]] = {}
    for table in tables:
        ids[table] = {}
        for row in source.execute(f"select * from {table} order by id"):
            sent = {name: row[name] for name in row.keys() if row[name] is not None}  # noqa: SIM118
            if table == "sessions":
                sent = {"session_id": row["id"]} | {k: v for k, v in sent.items() if k not in _UNSENT}
            else:
                del sent["id"]
            answer = api.post(ENDPOINTS[table], sent)
            assert answer.status_code in (200, 201), answer.content
            ids[table][answer.json()["id"]] = row["id"]
    source.close()
    return ids
