"""Uploads of transcripts: begun by a person, read by the background, ended."""

from pathlib import Path
from typing import Any

from contextdash import clock
from contextdash.actor import Actor
from contextdash.cleaning import clean, one_line
from contextdash.limits import NAME_CHARS
from contextdash.writer import write
from sessions_app.models import Upload

PROGRESS = ("state", "files", "ignored", "total_bytes", "read_bytes", "error", "finished_at")


@write
def begin_upload(*, folder: Path, name: str, size: int, actor: Actor) -> Upload:
    """The files lie in the folder; ``size`` is theirs in bytes."""
    return Upload.objects.create(
        user=actor.user,
        folder=folder.name,
        name=one_line(clean(name), NAME_CHARS),
        size=size,
        created_at=clock.now(),
    )


@write
def note_progress(*, upload: Upload, actor: Actor) -> None:
    """Store how far the reading is."""
    upload.save(update_fields=list(PROGRESS))


@write
def end_upload(*, upload: Upload, error: str = "", actor: Actor) -> None:
    upload.state = Upload.FAILED if error else Upload.DONE
    upload.error = "\n".join(part for part in (upload.error, clean(error)) if part)
    upload.finished_at = clock.now()
    upload.save(update_fields=list(PROGRESS))


def entry_of(name: str, size: int) -> dict[str, Any]:
    """How one transcript of an upload stands, as ``Upload.files`` keeps it; it is read by its ``name``."""
    return {"name": name, "size": size, "done": False, "events": 0, "skipped": 0, "error": ""}
