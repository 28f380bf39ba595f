"""What tells, without opening it, whether something that was read has changed."""

from pathlib import Path
from typing import NamedTuple

from sessions_app.importers import opencode_stores


class Stamp(NamedTuple):
    inode: int
    size: int
    modified_ns: int


def stamp_of(path: Path) -> Stamp:
    """
    Raises:
        OSError: it is not there.
    """
    stat = path.stat()
    size, modified_ns = stat.st_size, stat.st_mtime_ns
    for other in opencode_stores.belonging(path):
        try:
            more = other.stat()
        except OSError:
            continue  # it went away in this moment
        size, modified_ns = size + more.st_size, max(modified_ns, more.st_mtime_ns)
    return Stamp(stat.st_ino, size, modified_ns)
