from django.urls import URLPattern, path

from sessions_app.views import decisions, hooks, messages, mistakes, panels, plans, session, sessions

urlpatterns: list[URLPattern] = [
    path("sessions/", sessions.session_list, name="sessions"),
    path("sessions/<str:session_id>/pin/", sessions.pin, name="session_pin"),
    path("sessions/<str:session_id>/archive/", sessions.archive, name="session_archive"),
    path("sessions/<str:session_id>/delete/", sessions.delete, name="session_delete"),
    path("sessions/<str:session_id>/undelete/", sessions.undelete, name="session_undelete"),
    path("sessions/<str:session_id>/turns/<int:number>/", session.turn, name="session_turn"),
    path("sessions/<str:session_id>/calls/<int:key>/", session.call, name="session_call"),
    path(
        "sessions/<str:session_id>/calls/<int:key>/<slug:slug>/", session.call_part, name="session_call_part"
    ),
    path("sessions/<str:session_id>/ledger/", panels.ledger_page, name="session_ledger"),
    path("sessions/<str:session_id>/ledger/<int:ordinal>/", panels.event, name="session_event"),
    path("sessions/<str:session_id>/<slug:slug>/", panels.panel, name="session_panel"),
    path("sessions/<str:ref>/", session.session, name="session"),
    path("messages/<int:pk>/", messages.message_page, name="message"),
    path("messages/<int:pk>/acknowledge/", messages.message_acknowledge, name="message_acknowledge"),
    path("plans/", plans.plan_list, name="plans"),
    path("plans/<int:pk>/", plans.plan_page, name="plan"),
    path("plans/<int:pk>/status/", plans.plan_status, name="plan_status"),
    path("decisions/", decisions.decision_list, name="decisions"),
    path("decisions/new/", decisions.decision_new, name="decision_new"),
    path("decisions/record/", decisions.decision_record, name="decision_record"),
    path("decisions/all-stand/", decisions.decision_all_stand, name="decision_all_stand"),
    path("decisions/<int:pk>/", decisions.decision_page, name="decision"),
    path("decisions/<int:pk>/mark/", decisions.decision_mark, name="decision_mark"),
    path("decisions/<int:pk>/settle/", decisions.decision_settle, name="decision_settle"),
    path("mistakes/", mistakes.mistake_list, name="mistakes"),
    path("mistakes/new/", mistakes.mistake_new, name="mistake_new"),
    path("mistakes/record/", mistakes.mistake_record, name="mistake_record"),
    path("mistakes/<int:pk>/", mistakes.mistake_page, name="mistake"),
    path("mistakes/<int:pk>/edit/", mistakes.mistake_edit, name="mistake_edit"),
    path("mistakes/<int:pk>/change/", mistakes.mistake_change, name="mistake_change"),
    path("hooks/", hooks.hooks_page, name="hooks"),
    path("hooks/quarantined/<int:pk>/", hooks.quarantined_page, name="quarantined"),
]
