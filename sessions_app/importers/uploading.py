"""Transcripts that were uploaded: kept in a folder of the server's until the background has read them.

The request only stores them, so nobody's browser has to stay. Whichever process works in the background reads
half a second's worth at a time, and goes on after a restart: the row says which files are done, and each file
remembers its offset. What was read is recognised by its ids, so a file counts once, however it came.
"""

import logging
import lzma
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import IO, Any, Protocol

from django.db import OperationalError

from contextdash.actor import SYSTEM, Actor
from contextdash.address import data_dir
from contextdash.background import Task, background, register
from contextdash.cleaning import one_line
from contextdash.errors import Busy, Invalid, TooLarge
from contextdash.limits import MIB, UPLOAD_BYTES, UPLOAD_FILES, UPLOAD_UNPACKED_BYTES
from sessions_app.importers import finding
from sessions_app.importers.files import import_file
from sessions_app.importers.intake import Place
from sessions_app.importers.lines import HEAD_BYTES, head_of
from sessions_app.models import Upload
from sessions_app.services.uploads import begin_upload, end_upload, entry_of, note_progress

log = logging.getLogger("contextdash.imports")

TASK = "uploads"
SLICE_SECONDS = 0.5
NAME_CHARS = 480
"""The longest path within a zip file."""
_CHUNK = 1 * MIB


class Given(Protocol):
    """A file as Django hands it over: larger ones lie on the disk already."""

    @property
    def name(self) -> str | None: ...
    @property
    def size(self) -> int | None: ...
    def chunks(self, chunk_size: int | None = None) -> Iterable[bytes]: ...


def uploads_dir() -> Path:
    return data_dir() / "uploads"


def take(given: Sequence[Given], *, actor: Actor) -> Upload:
    """Keep the files, to be read soon.

    Raises:
        Invalid: there is none, or nothing in them.
        TooLarge: they are larger than UPLOAD_BYTES together.
    """
    size = sum(file.size or 0 for file in given)
    if not size:
        raise Invalid("Choose at least one file that is not empty.", field="files")
    if size > UPLOAD_BYTES:
        raise TooLarge(f"The files are larger than UPLOAD_BYTES ({UPLOAD_BYTES // MIB} MiB) together.")
    folder = uploads_dir() / secrets.token_hex(16)
    try:
        for number, file in enumerate(given):
            # Each in a folder of its own: two may have the same name, and it may mean something.
            place = folder / f"{number}"
            place.mkdir(parents=True, mode=0o700)
            with (place / _plain_name(file.name or "")).open("wb") as kept:
                for chunk in file.chunks(_CHUNK):
                    kept.write(chunk)
        names = [file.name or "" for file in given]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        upload = begin_upload(folder=folder, name=f"{names[0]}{more}", size=size, actor=actor)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    background.wake(TASK)
    return upload


def step() -> bool:
    """Read some of the oldest upload; True while there is more to read."""
    upload = Upload.objects.filter(state__in=(Upload.WAITING, Upload.READING)).order_by("id").first()
    if upload is None:
        return False
    folder = uploads_dir() / upload.folder
    try:
        if not folder.is_dir():
            end_upload(upload=upload, error="Its files are not on this machine.", actor=SYSTEM)
        elif upload.state == Upload.WAITING:
            _look(upload, folder)
        else:
            _read(upload, folder)
    except (Busy, OperationalError):
        raise  # the database's fault: it goes on later
    except Exception as error:
        # Others wait behind it.
        log.warning("upload %s: %s", upload.pk, type(error).__name__, exc_info=not isinstance(error, OSError))
        end_upload(upload=upload, error=_said(error), actor=SYSTEM)
    if upload.finished_at is not None:
        shutil.rmtree(folder, ignore_errors=True)
    return True


def _look(upload: Upload, folder: Path) -> None:
    """Unpack what is packed, and find the transcripts."""
    room = _Room(UPLOAD_FILES, UPLOAD_UNPACKED_BYTES)
    for path in sorted(folder.rglob("*.zip")):
        problem = _unpack(path, room)
        upload.error = "\n".join(part for part in (upload.error, problem) if part)
    found = finding.find([folder])
    known = {one.path for one in found}
    upload.ignored = sum(path not in known for path in finding.files_below(folder) if path.suffix != ".zip")
    upload.files = [
        entry_of(one.path.relative_to(folder).as_posix(), one.path.stat().st_size)
        for one in found[:UPLOAD_FILES]
    ]
    upload.total_bytes = sum(entry["size"] for entry in upload.files)
    upload.state = Upload.READING
    if upload.files:
        note_progress(upload=upload, actor=SYSTEM)
    else:
        end_upload(upload=upload, error="No transcript of a known client is among them.", actor=SYSTEM)


def _read(upload: Upload, folder: Path) -> None:
    """Some of the next transcript, or several small ones."""
    until = monotonic() + SLICE_SECONDS
    waiting = [entry for entry in upload.files if not entry["done"]]
    before = sum(entry["size"] for entry in upload.files if entry["done"])
    for entry in waiting:
        read = _read_file(upload, folder, entry, max(SLICE_SECONDS / 10, until - monotonic()))
        before += entry["size"] if entry["done"] else 0
        upload.read_bytes = before + (0 if entry["done"] else min(read, entry["size"]))
        if monotonic() >= until:
            break
    if all(entry["done"] for entry in upload.files):
        end_upload(upload=upload, actor=SYSTEM)
    else:
        note_progress(upload=upload, actor=SYSTEM)


def _read_file(upload: Upload, folder: Path, entry: dict[str, Any], seconds: float) -> int:
    """Bytes that are read of it."""
    reached = [0]
    path = folder / entry["name"]
    try:
        result = import_file(
            path,
            place=Place(host="", owner_id=upload.user_id),
            name=_home_name(path, entry["name"]),
            progress=reached.append,
            seconds=seconds,
        )
    except (Busy, OperationalError):
        raise
    except Exception as error:
        # One file's content must not keep the others from being read.
        log.warning("%s: %s", entry["name"], type(error).__name__, exc_info=not isinstance(error, OSError))
        entry |= {"done": True, "error": _said(error)}
        return 0
    entry["events"] += result.events
    entry["skipped"] += result.skipped
    sessions = list(dict.fromkeys([*entry.get("sessions", []), *result.session_ids]))[:20]
    entry |= {"done": result.finished, "source": result.source_id, "sessions": sessions}
    return reached[-1]


def _home_name(path: Path, name: str) -> str:
    """A path that the same file has again when it comes grown, and another file of its name has not."""
    with path.open("rb") as file:
        head = head_of(file, HEAD_BYTES).hex()[:12]
    return f"uploaded/{head}/{name.partition('/')[2]}"


def _plain_name(name: str) -> str:
    """The last part of a name, with nothing in it that a file system could mind."""
    plain = one_line(PurePosixPath(name.replace("\\", "/")).name, 150).strip(". ") or "file"
    return plain.encode("utf-8", "replace").decode()


@dataclass(slots=True)
class _Room:
    """What the zip files of one upload may still hold."""

    files: int
    size: int

    def takes(self, size: int) -> bool:
        if self.files < 1 or size > self.size:
            return False
        self.files -= 1
        self.size -= size
        return True


def _unpack(path: Path, room: _Room) -> str:
    """Unpack beside the zip file what may be a transcript; what was left out and why, if something was."""
    target = path.parent
    left = 0
    try:
        with zipfile.ZipFile(path) as packed:
            for member in packed.infolist():
                if not member.is_dir() and not _unpack_one(packed, member, target, room):
                    left += 1
    except _BROKEN as error:
        return f"{path.name} cannot be unpacked: {error}"
    finally:
        path.unlink(missing_ok=True)
    if left:
        limits = (
            f"UPLOAD_FILES ({UPLOAD_FILES}) and UPLOAD_UNPACKED_BYTES ({UPLOAD_UNPACKED_BYTES // MIB} MiB)"
        )
        return (
            f"{left} files of {path.name} were left packed: they are too many or too large ({limits}),"
            " or their names lead elsewhere."
        )
    return ""


_BROKEN = (
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError),
    *(zlib.error, lzma.LZMAError),
)


def _unpack_one(packed: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, room: _Room) -> bool:
    """Whether there was a place for it."""
    place = _inside(target, member.filename)
    # A second file of a name, or one whose name is a folder's, would take the first one's place.
    if place is None or place.exists() or not room.takes(member.file_size):
        return False
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return False
    with packed.open(member) as source, place.open("wb") as kept:
        _copy(source, kept, member.file_size)
    return True


def _said(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or f"It cannot be read ({error!r})."[:300]


def _inside(target: Path, name: str) -> Path | None:
    """Where a packed file may lie; None where its name leads elsewhere."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", ".")]
    if (
        not parts
        or ".." in parts
        or "\0" in name
        or any(len(part.encode("utf-8", "replace")) > 250 for part in parts)
    ):
        return None
    # Longer names are not kept whole where it is written down what is to be read.
    return None if len("/".join(parts)) > NAME_CHARS else target.joinpath(*parts)


def _copy(source: IO[bytes], kept: IO[bytes], size: int) -> None:
    """At most as much as the file was said to be."""
    while size > 0 and (chunk := source.read(min(_CHUNK, size))):
        kept.write(chunk)
        size -= len(chunk)


def register_task() -> None:
    # It reads in the lease's process: one upload after the other, and none twice at once.
    register(Task(TASK, "Reading uploaded transcripts", 5, step))
