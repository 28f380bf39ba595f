"""Today: what needs a person, who works on what, the day's figures."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def today(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/today.html", {"nav": "today"})
