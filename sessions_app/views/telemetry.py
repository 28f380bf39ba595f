"""OTLP/HTTP at the root: where exporters send telemetry."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from sessions_app.ingest.otlp.endpoint import respond


@csrf_exempt
@login_not_required
def take(request: HttpRequest, signal: str) -> HttpResponse:
    return respond(request, signal)
