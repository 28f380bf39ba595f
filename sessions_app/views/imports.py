"""Imports: transcripts that were read and what in them could not be used; uploads and how far they are."""

from typing import Any

from django.core.exceptions import TooManyFilesSent
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.errors import TooLarge
from contextdash.limits import MIB, UPLOAD_AT_ONCE, UPLOAD_BYTES
from contextdash.viewkit import actor_of, changes
from sessions_app.importers import uploading
from sessions_app.models import Upload
from sessions_app.queries import imports as queries
from sessions_app.views.listing import address, choices, paging

ROWS = 50
LINES = 20
FRAME_BYTES = 1 * MIB
"""What a form's own parts may add to its files."""


@require_GET
def import_list(request: HttpRequest) -> HttpResponse:
    query = request.GET
    uploads = queries.uploads()
    read = queries.sources(
        limit=ROWS, cursor=query.get("cursor"), client=query.get("client", ""), only=query.get("only", "")
    )
    newest = read.items[0].imported_at.isoformat() if read.items else ""
    version = f"{newest}.{'.'.join(_version(one) for one in uploads)}"
    if (same := live.unchanged(request, version)) is not None:
        return same
    context = {
        "nav": "connect",
        "sources": read.items,
        "uploads": [_shown(one) for one in uploads],
        "clients": choices(query, "client", [(name, name) for name in queries.clients()]),
        "only": query.get("only", ""),
        "only_url": address(query, only=None if query.get("only") else "skipped", cursor=None),
        "filtered": bool(query.get("client") or query.get("only")),
        "most": UPLOAD_BYTES,
        **paging(query, read.next),
    }
    return live.respond(request, "imports/list.html", context, version=version, fragment="live")


@require_GET
def import_source(request: HttpRequest, pk: int) -> HttpResponse:
    source = queries.source(pk)
    lines = queries.skipped_lines(source, limit=LINES, cursor=request.GET.get("cursor"))
    for row in lines.items:
        row.preview_text = bytes(row.preview or b"").decode("utf-8", "replace")  # type: ignore[attr-defined]
    context = {
        "nav": "connect",
        "source": source,
        "percent": min(100, source.offset * 100 // source.size) if source.size else 100,
        "title": queries.titles([source.session_id]).get(source.session_id),
        "types": sorted(source.facts.get("record_types", {}).items(), key=lambda pair: -pair[1])[:40],
        "lines": lines.items,
        **paging(request.GET, lines.next),
    }
    return render(request, "imports/source.html", context)


@require_GET
def upload_page(request: HttpRequest, pk: int) -> HttpResponse:
    upload = queries.upload(pk)
    version = _version(upload)
    if (same := live.unchanged(request, version)) is not None:
        return same
    shown = _shown(upload)
    titles = queries.titles([session for entry in upload.files for session in entry.get("sessions", [])])
    context = {
        "nav": "connect",
        **shown,
        "live_url": request.path,
        "rows": [
            {
                **entry,
                "shown": entry["name"].partition("/")[2] or entry["name"],
                "sessions": [(one, titles[one]) for one in entry.get("sessions", []) if one in titles],
            }
            for entry in upload.files[:ROWS]
        ],
        "more": max(0, len(upload.files) - ROWS),
        "session_count": len(titles),
    }
    return live.respond(request, "imports/upload.html", context, version=version, fragment="live")


@csrf_exempt
@changes
def upload_add(request: HttpRequest) -> HttpResponse:
    """Who asks, and for how much, is judged before the body is read: the form is looked into after it."""
    told = request.META.get("CONTENT_LENGTH") or "0"
    if int(told if told.isdigit() else 0) > UPLOAD_BYTES + FRAME_BYTES:
        raise TooLarge(f"The files are larger than UPLOAD_BYTES ({UPLOAD_BYTES // MIB} MiB) together.")
    try:
        return _upload(request)
    except TooManyFilesSent:
        raise TooLarge(
            f"Choose at most {UPLOAD_AT_ONCE} files (UPLOAD_AT_ONCE), or a zip file of them.", field="files"
        ) from None


@csrf_protect
def _upload(request: HttpRequest) -> HttpResponse:
    upload = uploading.take(request.FILES.getlist("files"), actor=actor_of(request))
    return redirect("upload", pk=upload.pk)


def _version(upload: Upload) -> str:
    return f"{upload.pk}-{upload.state}-{upload.read_bytes}-{sum(entry['done'] for entry in upload.files)}"


def _shown(upload: Upload) -> dict[str, Any]:
    entries = upload.files
    return {
        "upload": upload,
        "running": upload.finished_at is None,
        "percent": min(100, upload.read_bytes * 100 // upload.total_bytes) if upload.total_bytes else 0,
        "read": sum(entry["done"] for entry in entries),
        "events": sum(entry["events"] for entry in entries),
        "skipped": sum(entry["skipped"] for entry in entries),
        "failed": sum(bool(entry["error"]) for entry in entries),
    }
