"""The hook endpoint for servers and tests that go through Django; ``contextdash.shortpath`` is in front."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from sessions_app.ingest.endpoint import respond


@csrf_exempt
@login_not_required
def deliver(request: HttpRequest, client: str, event: str = "") -> HttpResponse:
    answer = respond(request.META, client, event)
    return HttpResponse(answer.body, status=answer.status, headers=answer.headers)
