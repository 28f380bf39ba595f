"""Django's admin: owners only, every model listed, the ledger read-only, corrections through the services."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from contextdash.models import Change, SigninLink, Token, User
from sessions_app.models import Decision, Event, Plan, Purge, Session, SessionEvent, Tombstone
from tests import factories
from tests.seed import seed_demo

OURS = ("contextdash", "sessions_app", "reviews_app", "backlog_app")
MODELS = [model for model in apps.get_models() if model._meta.app_label in OURS]
LEDGER = [Event, SessionEvent, Purge, Tombstone, Change]
LIST_QUERIES = 12


def address(model: Any, page: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def correction(desk: Client, row: Any, **values: Any) -> Any:
    """What the form sends when somebody changes ``values`` in it."""
    form = desk.get(address(type(row), "change", row.pk)).context["adminform"].form
    told = {name: "" if form[name].value() is None else form[name].value() for name in form.fields}
    told = {name: value for name, value in told.items() if value is not False}
    return desk.post(address(type(row), "change", row.pk), {**told, **values})


@pytest.fixture
def desk(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def test_every_model_is_registered():
    assert {model for model in MODELS if not admin.site.is_registered(model)} == set()


def test_every_list_and_one_form_of_every_model_open(desk, owner, django_assert_max_num_queries):
    seed_demo(owner)
    filled = 0
    for model in MODELS:
        with django_assert_max_num_queries(LIST_QUERIES):
            answer = desk.get(address(model, "changelist"))
        assert answer.status_code == 200, model
        assert "<script>" not in answer.text.replace("<script src", "").replace('<script id="', "")
        row = model._default_manager.first()
        if row is not None:
            filled += 1
            assert desk.get(address(model, "change", row.pk)).status_code == 200, model
    assert filled > 20, "the demo day fills nearly every table"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_filter_and_search_of_a_list_works(model, desk):
    listed = admin.site.get_model_admin(model)
    wanted = [{"q": "don't % _ 12"}] if listed.search_fields else []
    for one in listed.list_filter:
        name = one if isinstance(one, str) else getattr(one, "parameter_name", None)
        if name:
            wanted.append({name: "1"})
    for query in wanted:
        assert desk.get(address(model, "changelist"), query).status_code == 200, query


@pytest.mark.parametrize("model", LEDGER, ids=lambda model: model.__name__)
def test_the_ledger_is_read_only(model, owner, rf):
    request = rf.get("/")
    request.user = owner
    listed = admin.site.get_model_admin(model)
    assert not listed.has_add_permission(request)
    assert not listed.has_change_permission(request)
    assert not listed.has_delete_permission(request)


def test_nothing_is_ever_deleted_in_the_admin(owner, rf):
    request = rf.get("/")
    request.user = owner
    assert [m for m in MODELS if admin.site.get_model_admin(m).has_delete_permission(request)] == []


def test_lists_of_events_never_count_the_table(desk, owner, django_assert_max_num_queries):
    seed_demo(owner)
    with django_assert_max_num_queries(LIST_QUERIES) as seen:
        desk.get(address(Event, "changelist"))
    counts = [query["sql"] for query in seen.captured_queries if "COUNT(" in query["sql"]]
    assert counts
    assert all("LIMIT 10000" in sql for sql in counts)


def test_a_correction_goes_through_the_service_and_says_who_and_why(desk, owner):
    seed_demo(owner)
    decision = Decision.objects.first()
    answer = correction(desk, decision, topic="ledger", reason="it was filed under the wrong word")
    assert answer.status_code == 302, answer.context["errors"]
    change = Change.objects.filter(noun="decisions", row_id=decision.pk, field="topic").latest("id")
    assert (change.new, change.user, change.reason) == ("ledger", owner, "it was filed under the wrong word")


def test_a_correction_without_a_reason_is_refused(desk, owner):
    seed_demo(owner)
    plan = Plan.objects.first()
    answer = correction(desk, plan, title="Another", reason="")
    assert "reason" in answer.context["adminform"].form.errors
    assert Plan.objects.get(pk=plan.pk).title == plan.title


def test_what_the_service_refuses_is_an_error_of_the_form(desk, owner):
    seed_demo(owner)
    session = Session.objects.first()
    answer = correction(desk, session, agent_name=" ", reason="to see")
    assert answer.status_code == 200
    assert "agent_name" in answer.context["adminform"].form.errors


def test_of_two_who_correct_at_once_the_second_is_told(desk, owner):
    seed_demo(owner)
    decision = Decision.objects.first()
    stale = decision.version - 1
    answer = correction(desk, decision, topic="x", reason="why", seen_version=stale)
    assert "changed this in the meantime" in answer.text
    assert Decision.objects.get(pk=decision.pk).topic == decision.topic


@pytest.mark.parametrize("role", ["member", "viewer"])
def test_others_than_owners_do_not_get_in(role, db):
    client = Client()
    client.force_login(factories.user(role))
    for path in ("/admin/", address(User, "changelist"), address(Event, "changelist")):
        answer = client.get(path, follow=True)
        assert answer.status_code == 403, path


def test_nobody_is_sent_to_the_sign_in_page(client, db):
    answer = client.get("/admin/", follow=True)
    assert answer.redirect_chain[-1][0] == "/signin/?next=%2Fadmin%2F"


def test_an_owner_makes_a_person_and_a_link_for_them(desk, owner):
    answer = desk.post(address(User, "add"), {"username": "nora", "role": "viewer"})
    assert answer.status_code == 302
    nora = User.objects.get(username="nora")
    assert (nora.role, nora.is_staff, nora.has_usable_password()) == ("viewer", False, False)
    assert Change.objects.filter(noun="users", row_id=nora.pk, user=owner).exists()
    answer = desk.post(
        address(User, "changelist"),
        {"action": "make_signin_link", "_selected_action": [nora.pk]},
        follow=True,
    )
    link = [str(message) for message in answer.context["messages"]][-1]
    person = Client()
    assert person.get(link.split("minutes: ")[1]).status_code == 302
    assert SigninLink.objects.get(user=nora).used_at is not None


def test_a_name_that_is_taken_is_an_error_of_the_form(desk, owner):
    answer = desk.post(address(User, "add"), {"username": "OLGA", "role": "member"})
    assert "olga" in str(answer.context["adminform"].form.errors).lower()


def test_the_last_owner_stays_one(desk, owner):
    answer = correction(desk, owner, role="member", reason="leaving")
    assert "last owner" in answer.text
    owner.refresh_from_db()
    assert owner.role == "owner"


def test_flags_of_django_follow_the_role(desk, owner, member):
    assert correction(desk, member, role="owner", reason="shares the work").status_code == 302
    member.refresh_from_db()
    assert (member.role, member.is_staff, member.is_superuser) == ("owner", True, True)


def test_a_token_is_revoked_from_the_list(desk, owner):
    token, _ = factories.token("write", owner)
    desk.post(address(Token, "changelist"), {"action": "revoke", "_selected_action": [token.pk]})
    token.refresh_from_db()
    assert token.revoked_at is not None
