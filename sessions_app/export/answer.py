"""The export as the answer to a request: a file with a name that no system stumbles over."""

import re
from collections.abc import Callable, Iterator

from django.http import StreamingHttpResponse

from contextdash.errors import Invalid
from sessions_app.export import as_json, as_markdown
from sessions_app.export.reading import in_chunks
from sessions_app.models import Session

FORMATS: dict[str, tuple[str, Callable[[Session], Iterator[str]]]] = {
    "md": ("text/markdown; charset=utf-8", as_markdown.pieces),
    "json": ("application/json", as_json.pieces),
}
"""By ending: the media type and what writes it."""

_NOT_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def chunks(session: Session, ending: str) -> Iterator[bytes]:
    """
    Raises:
        Invalid: there is no such format.
    """
    return in_chunks(_format(ending)[1](session))


def answer(session: Session, ending: str) -> StreamingHttpResponse:
    """
    Raises:
        Invalid: there is no such format.
    """
    media, _ = _format(ending)
    response = StreamingHttpResponse(chunks(session, ending), content_type=media)
    response["Content-Disposition"] = f'attachment; filename="{file_name(session, ending)}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    return response


def file_name(session: Session, ending: str) -> str:
    """``session-0f3c….md``: never a path, whatever the id is."""
    return f"session-{_NOT_NAME.sub('-', session.id)[:80].strip('.-') or 'export'}.{ending}"


def _format(ending: str) -> tuple[str, Callable[[Session], Iterator[str]]]:
    if ending not in FORMATS:
        raise Invalid(f"format must be one of {', '.join(FORMATS)}.", field="format")
    return FORMATS[ending]
