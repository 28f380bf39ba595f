"""The one place that sees every app's addresses."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from contextdash.api import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("contextdash.pages.urls")),
    path("", include("sessions_app.urls")),
    path("", include("reviews_app.urls")),
    path("", include("backlog_app.urls")),
    path("api/v1/", api.urls),
    path("admin/", admin.site.urls),
]
