"""A session as a file."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from sessions_app.export.answer import answer
from sessions_app.queries.session import find_session


@require_GET
def export(request: HttpRequest, session_id: str, ending: str) -> HttpResponseBase:
    return answer(find_session(session_id), ending)
