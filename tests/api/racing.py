"""Real threads against the real writer."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from contextdash.writer import writer


@contextmanager
def serving() -> Iterator[None]:
    """As in the process that serves: on SQLite the writer's thread runs."""
    writer.start()
    try:
        yield
    finally:
        writer.stop()


@contextmanager
def closing(connection: Any) -> Iterator[None]:
    """A thread's own connection is closed with it."""
    try:
        yield
    finally:
        connection.close()
