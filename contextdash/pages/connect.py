"""Connect: tokens, the snippet for each client, what has arrived."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def connect(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/connect.html", {"nav": "connect"})
