"""The bytes of an attachment as an answer in which nothing runs, whatever they are."""

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from contextdash import sniffing
from sessions_app.models import Attachment
from sessions_app.queries import attachments as queries

POLICY = "sandbox; default-src 'none'"
"""Even what a browser draws may load, run and embed nothing."""


def file_answer(row: Attachment) -> HttpResponse:
    """A picture as what its bytes are; everything else, SVG and HTML too, is saved and not shown.

    Raises:
        NotFound: its bytes are somewhere else, or were erased.
    """
    data = queries.bytes_of(row)
    shown = queries.is_image(row)
    answer = HttpResponse(data, content_type=row.media_type if shown else sniffing.BYTES)
    name = row.filename or f"attachment-{row.pk}"
    answer["Content-Disposition"] = content_disposition_header(not shown, name) or "inline"
    answer["Content-Security-Policy"] = POLICY
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Cross-Origin-Resource-Policy"] = "same-origin"
    # An attachment never changes, but its bytes can be erased.
    answer["Cache-Control"] = "private, max-age=300"
    return answer
