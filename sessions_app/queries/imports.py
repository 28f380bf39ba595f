"""What was imported: the files, how far, and what in them could not be used; uploads."""

from django.db.models import BinaryField
from django.db.models.functions import Substr

from contextdash.errors import NotFound
from contextdash.paging import Page, page
from sessions_app.models import ImportSource, Quarantined, Session, Upload
from sessions_app.queries.hooks import PREVIEW_BYTES

UPLOADS_SHOWN = 5


def sources(*, limit: int, cursor: str | None, client: str = "", only: str = "") -> Page[ImportSource]:
    """The file that was read last comes first. ``only``: skipped, those with lines that could not be used."""
    rows = ImportSource.objects.defer("state", "facts", "head")
    if client:
        rows = rows.filter(client=client)
    if only == "skipped":
        rows = rows.filter(skipped__gt=0)
    return page(rows, limit=limit, cursor=cursor, time_field="imported_at")


def clients() -> list[str]:
    """Those that something was imported of."""
    return sorted(ImportSource.objects.values_list("client", flat=True).distinct().order_by("client"))


def source(pk: int) -> ImportSource:
    """
    Raises:
        NotFound: there is none.
    """
    found = ImportSource.objects.filter(pk=pk).first() if pk < 2**63 else None
    if found is None:
        raise NotFound(f"There is no imported file {pk}.")
    return found


def skipped_lines(of: ImportSource, *, limit: int, cursor: str | None) -> Page[Quarantined]:
    """Newest first; bodies are read up to PREVIEW_BYTES as ``preview``."""
    rows = Quarantined.objects.filter(import_source=of).defer("body")
    rows = rows.annotate(preview=Substr("body", 1, PREVIEW_BYTES, output_field=BinaryField()))
    return page(rows, limit=limit, cursor=cursor, time_field="at")


def uploads() -> list[Upload]:
    """The newest ones."""
    return list(Upload.objects.select_related("user").order_by("-id")[:UPLOADS_SHOWN])


def upload(pk: int) -> Upload:
    """
    Raises:
        NotFound: there is none.
    """
    found = Upload.objects.select_related("user").filter(pk=pk).first() if pk < 2**63 else None
    if found is None:
        raise NotFound(f"There is no upload {pk}.")
    return found


def titles(ids: list[str]) -> dict[str, str]:
    """The titles of the sessions that are there, by their ids."""
    found = Session.objects.filter(id__in=ids, deleted_at=None).values_list("id", "title")
    return {session_id: title or session_id for session_id, title in found}
