from django.urls import URLPattern, path

from contextdash.pages import auth, connect, people, profile, settings, standup, today

urlpatterns: list[URLPattern] = [
    path("", today.today, name="today"),
    path("standup/", standup.standup_page, name="standup"),
    path("standup.md", standup.standup_file, name="standup_file"),
    path("connect/", connect.connect, name="connect"),
    path("connect/tokens/", connect.make_token, name="make_token"),
    path("connect/tokens/<int:pk>/revoke/", connect.revoke_token, name="revoke_token"),
    path("people/", people.people, name="people"),
    path("people/invite/", people.invite, name="person_invite"),
    path("people/<int:pk>/", people.person, name="person"),
    path("people/<int:pk>/link/", people.make_link, name="person_link"),
    path("people/<int:pk>/role/", people.change_role, name="person_role"),
    path("people/<int:pk>/active/", people.set_active, name="person_active"),
    path("people/<int:pk>/tokens/<int:token>/revoke/", people.revoke_token, name="person_revoke"),
    path("settings/", settings.settings, name="settings"),
    path("settings/kept/", settings.kept, name="kept"),
    path("settings/redaction/", settings.redaction, name="redaction"),
    path("sessions/<str:session_id>/purge/", settings.purge, name="session_purge"),
    path("profile/", profile.profile, name="profile"),
    path("profile/theme/", profile.set_theme, name="set_theme"),
    path("profile/password/", profile.set_password, name="set_password"),
    path("freshness/", profile.freshness, name="freshness"),
    *auth.urlpatterns,
]
