from django.urls import URLPattern, path

from contextdash.pages import auth, connect, profile, today

urlpatterns: list[URLPattern] = [
    path("", today.today, name="today"),
    path("connect/", connect.connect, name="connect"),
    path("connect/tokens/", connect.make_token, name="make_token"),
    path("connect/tokens/<int:pk>/revoke/", connect.revoke_token, name="revoke_token"),
    path("profile/", profile.profile, name="profile"),
    path("profile/theme/", profile.set_theme, name="set_theme"),
    path("profile/password/", profile.set_password, name="set_password"),
    path("freshness/", profile.freshness, name="freshness"),
    *auth.urlpatterns,
]
