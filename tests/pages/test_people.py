"""People: owners let in, change roles, take tokens away, let go; everybody else sees nothing of it."""

import re
from datetime import timedelta
from html import unescape

import pytest
import time_machine
from django.test import Client

from contextdash import clock
from contextdash.actor import SYSTEM, Actor
from contextdash.errors import Conflict, Forbidden
from contextdash.models import Change, SigninLink, User
from contextdash.services import invites, signin, users
from contextdash.services.tokens import authenticate
from sessions_app.services.seen import see_rows
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(owner: User) -> Client:
    """An owner's browser."""
    client = Client()
    client.force_login(owner)
    return client


def link_in(answer) -> str:
    found = re.search(r"<code>(http://testserver/signin/[\w-]+/)</code>", unescape(answer.text))
    assert found, "no link"
    return found[1]


@pytest.mark.parametrize("role", ["owner", "member", "viewer"])
def test_somebody_is_invited_and_signs_in_with_their_role(role, desk, owner):
    made = desk.post("/people/invite/", {"username": "noor", "role": role})
    assert "no-store" in made["Cache-Control"]
    link = link_in(made)
    assert link not in desk.get("/people/").text
    browser = Client()
    assert browser.get(link)["Location"] == "/"
    assert browser.get("/profile/").status_code == 200
    noor = User.objects.get(username="noor")
    assert (noor.role, noor.is_staff, noor.has_usable_password()) == (role, role == "owner", False)
    assert Change.objects.get(noun="users", row_id=noor.pk, field="created").user == owner
    assert browser.get("/people/").status_code == (200 if role == "owner" else 403)


def test_an_invitation_works_for_two_days(desk):
    link = link_in(desk.post("/people/invite/", {"username": "noor", "role": "member"}))
    assert "invited" in desk.get("/people/").text
    with time_machine.travel(clock.now() + signin.INVITE_LIFETIME - timedelta(minutes=1)):
        assert Client().get(link).status_code == 302
    late = link_in(desk.post("/people/invite/", {"username": "mo", "role": "member"}))
    with time_machine.travel(clock.now() + signin.INVITE_LIFETIME + timedelta(minutes=1)):
        assert Client().get(late).status_code == 403


@pytest.mark.parametrize(
    ("told", "status", "words"),
    [
        ({"username": "MIA", "role": "member"}, 409, "There is a person called"),
        ({"username": "a b", "role": "member"}, 422, "Enter a valid username"),
        ({"username": "", "role": "member"}, 422, "required"),
        ({"username": "eve", "role": "admin"}, 422, "not one of the available"),
        ({"username": "<script>x", "role": "viewer"}, 422, "&lt;script&gt;x"),
    ],
)
def test_what_cannot_be_invited_is_told_in_the_form(told, status, words, desk, member):
    answer = desk.post("/people/invite/", told)
    assert answer.status_code == status
    assert words in answer.text
    assert User.objects.count() == 2


def test_a_new_link_takes_the_place_of_one_that_nobody_used(desk, member):
    first = link_in(desk.post(f"/people/{member.pk}/link/"))
    assert "A link that nobody has used yet works until" in desk.get(f"/people/{member.pk}/").text
    second = link_in(desk.post(f"/people/{member.pk}/link/"))
    assert Client().get(first).status_code == 403
    assert Client().get(second).status_code == 302


def test_a_role_changes_with_its_reason_in_the_history(desk, member):
    answer = desk.post(
        f"/people/{member.pk}/role/", {"role": "viewer", "reason": "only looks on"}, follow=True
    )
    assert "mia is viewer." in answer.text.lower()
    assert "only looks on" in answer.text
    change = Change.objects.get(noun="users", row_id=member.pk, field="role")
    assert (change.old, change.new, change.user.username) == ("member", "viewer", "olga")


def test_a_role_needs_a_reason(desk, member):
    assert desk.post(f"/people/{member.pk}/role/", {"role": "viewer", "reason": " "}).status_code == 422
    assert desk.post(f"/people/{member.pk}/active/", {"active": "0", "reason": ""}).status_code == 422
    member.refresh_from_db()
    assert (member.role, member.is_active) == ("member", True)


def test_who_is_deactivated_is_out_everywhere_and_comes_back_whole(desk, member, make_api):
    browser, program = Client(), make_api("write", member)
    browser.force_login(member)
    link = f"/signin/{invites.link_for(user=member, actor=SYSTEM)}/"
    assert program.get("sessions").status_code == 200

    desk.post(f"/people/{member.pk}/active/", {"active": "0", "reason": "left the team"})
    assert browser.get("/sessions/").status_code == 302
    assert program.get("sessions").status_code == 401
    assert Client().get(link).status_code == 403
    assert "not active" in desk.get("/people/").text
    assert desk.post(f"/people/{member.pk}/link/").status_code == 409

    desk.post(f"/people/{member.pk}/active/", {"active": "1", "reason": "is back"})
    assert program.get("sessions").status_code == 200
    assert Client().get(link).status_code == 403, "what was taken away does not come back"
    reasons = (
        Change.objects.filter(noun="users", field="is_active").order_by("id").values_list("reason", flat=True)
    )
    assert list(reasons) == ["left the team", "is back"]


def test_the_last_owner_can_neither_be_demoted_nor_deactivated(desk, owner, member):
    page = desk.get(f"/people/{owner.pk}/").text
    assert "The last owner keeps the role" in page
    assert "Deactivate…" not in page
    assert desk.post(f"/people/{owner.pk}/role/", {"role": "member", "reason": "x"}).status_code == 409
    assert desk.post(f"/people/{owner.pk}/active/", {"active": "0", "reason": "x"}).status_code == 409
    owner.refresh_from_db()
    assert owner.is_owner
    assert owner.is_active


def test_an_owner_may_step_down_when_another_is_there(desk, owner, member):
    users.change_user(user=member, values={"role": "owner"}, actor=SYSTEM)
    answer = desk.post(f"/people/{owner.pk}/role/", {"role": "member", "reason": "handed over"})
    assert answer["Location"] == "/"
    assert desk.get("/people/").status_code == 403


def test_a_change_is_judged_by_what_is_stored_and_not_by_an_old_copy(owner, member):
    users.change_user(user=member, values={"role": "owner"}, actor=SYSTEM)
    stale = User.objects.get(pk=member.pk)
    users.change_user(user=owner, values={"role": "viewer"}, actor=SYSTEM)
    stale.role = "member"
    with pytest.raises(Conflict):
        users.change_user(user=stale, values={"is_active": False}, actor=SYSTEM)


def test_an_owner_revokes_the_token_of_anybody_with_a_reason(desk, owner, member):
    token, secret = factories.token("write", member)
    other, _ = factories.token("write", owner)
    assert token.name in desk.get(f"/people/{member.pk}/").text
    wrong = desk.post(f"/people/{member.pk}/tokens/{other.pk}/revoke/", {"reason": "not theirs"})
    assert wrong.status_code == 404
    desk.post(f"/people/{member.pk}/tokens/{token.pk}/revoke/", {"reason": "laptop lost"})
    assert authenticate(secret) is None
    assert Change.objects.get(noun="tokens", row_id=token.pk, field="revoked").reason == "laptop lost"
    assert token.prefix not in desk.get(f"/people/{member.pk}/").text


def test_last_seen_is_the_newest_of_signing_in_and_looking(desk, owner, member):
    assert "never" in desk.get("/people/").text
    session = factories.session("s-1")
    see_rows(user=member, last_us={session.key: 1})
    assert "never" not in desk.get("/people/").text.replace("changes nothing", "")


@pytest.mark.parametrize("who", ["member", "viewer"])
def test_others_see_no_entry_and_are_refused(who, request):
    client = Client()
    client.force_login(request.getfixturevalue(who))
    assert 'href="/people/"' not in client.get("/sessions/").text
    for path in ("/people/", "/people/1/"):
        assert client.get(path).status_code == 403
    for path in ("/people/invite/", "/people/1/link/", "/people/1/role/", "/people/1/active/"):
        answer = client.post(path, {"username": "eve", "role": "owner", "reason": "x", "active": "1"})
        assert answer.status_code == 403
    assert not User.objects.filter(username="eve").exists()
    assert not SigninLink.objects.exists()


def test_the_services_ask_for_an_owner_too(member, viewer):
    with pytest.raises(Forbidden):
        invites.invite(username="eve", role="member", actor=Actor(user=member))
    with pytest.raises(Forbidden):
        invites.link_for(user=viewer, actor=Actor(user=member))


def test_a_person_that_is_not_there_is_told(desk):
    assert desk.get("/people/99999/").status_code == 404
    assert desk.get(f"/people/{2**70}/").status_code == 404


def test_the_pages_cost_the_same_with_many_people(desk, member, django_assert_max_num_queries):
    for _ in range(40):
        factories.token("write", member)
        factories.token("write")
    with django_assert_max_num_queries(26):
        assert desk.get("/people/").text.count("data-row=") == 42
    with django_assert_max_num_queries(28):
        desk.get(f"/people/{member.pk}/")
