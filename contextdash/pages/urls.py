from django.urls import URLPattern, path

from contextdash.pages import auth, connect, profile, today

urlpatterns: list[URLPattern] = [
    path("", today.today, name="today"),
    path("connect/", connect.connect, name="connect"),
    path("profile/", profile.profile, name="profile"),
    path("profile/theme/", profile.set_theme, name="set_theme"),
    path("freshness/", profile.freshness, name="freshness"),
    *auth.urlpatterns,
]
