"""Hooks: deliveries per client and event, how scripts fare, what could not be stored."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from contextdash import live
from sessions_app.queries import hooks as queries
from sessions_app.views.listing import address, paging

DEFAULT_RANGE = "24h"
QUARANTINED_ROWS = 20


@require_GET
def hooks_page(request: HttpRequest) -> HttpResponse:
    version = queries.hooks_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    query = request.GET
    chosen = query.get("range", DEFAULT_RANGE)
    if chosen not in queries.RANGES:
        chosen = DEFAULT_RANGE
    window = queries.RANGES[chosen]
    clients = queries.deliveries(window)
    reports = queries.reports(window)
    held = queries.quarantined(limit=QUARANTINED_ROWS, cursor=query.get("cursor"))
    context = {
        "nav": "hooks",
        "chosen": chosen,
        "ranges": [
            (name, name == chosen, address(query, range=name, cursor=None)) for name in queries.RANGES
        ],
        "clients": clients,
        "accepted": sum(client.accepted for client in clients),
        "refused": sum(client.refused for client in clients),
        "unknown": sum(client.unknown for client in clients),
        "duplicate": sum(client.duplicate for client in clients),
        "reports": reports,
        "held": [_readable(row) for row in held.items],
        **paging(query, held.next),
    }
    return live.respond(request, "hooks/page.html", context, version=version, fragment="live")


@require_GET
def quarantined_page(request: HttpRequest, pk: int) -> HttpResponse:
    row = queries.quarantined_of(pk)
    body = bytes(row.body)
    context = {
        "nav": "hooks",
        "row": row,
        "body": body.decode("utf-8", "replace"),
        "kept": len(body),
        "cut": len(body) < row.body_size,
    }
    return render(request, "hooks/quarantined.html", context)


def _readable(row: Any) -> Any:
    """A row that carries ``preview``, with it as text."""
    row.preview_text = bytes(row.preview or b"").decode("utf-8", "replace")
    return row
