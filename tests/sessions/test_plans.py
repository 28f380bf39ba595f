import pytest

from contextdash.actor import SYSTEM, Actor
from contextdash.errors import Invalid, Stale
from contextdash.models import Change
from sessions_app.models import Plan, Session
from sessions_app.services.plans import change_plan, snapshot_plan
from tests import factories

pytestmark = pytest.mark.django_db

BODY = "# Refunds\n\n- [x] read the code\n- [ ] write the test\n"


def snapshot(**values):
    given = {"session": "s1", "title": None, "path": "docs/refunds.plan.md", "body": BODY, "actor": SYSTEM}
    return snapshot_plan(**(given | values))


def test_the_same_text_is_one_version_however_often_it_is_sent():
    first = snapshot()
    assert snapshot(session="s2").pk == first.pk
    assert Plan.objects.count() == 1
    assert Session.objects.get(id="s1").plan_count == 1


def test_another_text_is_another_version_and_going_back_is_a_third():
    snapshot()
    snapshot(body="# Refunds\n\nOther.")
    snapshot()
    assert Plan.objects.count() == 3
    assert Session.objects.get(id="s1").plan_count == 3


def test_the_same_path_in_another_project_is_another_plan():
    snapshot(project=factories.project("Alpha"))
    snapshot(project=factories.project("Beta"))
    assert Plan.objects.count() == 2


@pytest.mark.parametrize(
    ("told", "body", "title"),
    [
        ("Told", BODY, "Told"),
        (None, BODY, "Refunds"),
        ("  ", "---\nname: Named here\n---\ntext", "Named here"),
        (None, "#\n\nno heading", "refunds.plan.md"),
        (None, "## second level only", "refunds.plan.md"),
        (None, "# " + "x" * 900, "x" * 499 + "…"),
    ],
)
def test_a_plan_finds_its_title(told, body, title):
    assert snapshot(title=told, body=body).title == title


def test_a_told_status_moves_the_version_that_is_there_but_never_back_to_proposed(member):
    plan = snapshot()
    assert snapshot(status="approved").pk == plan.pk
    assert snapshot(status="proposed").status == "approved"
    change = Change.objects.get(noun="plans")
    assert (change.field, change.old, change.new) == ("status", "proposed", "approved")


def test_an_unknown_status_is_kept(member):
    plan = change_plan(plan=snapshot(), values={"status": "parked"}, actor=Actor(user=member), reason="Later")
    assert Plan.objects.get().status == "parked"
    assert Change.objects.get().reason == "Later"
    assert plan.version == 2


def test_the_text_of_a_version_never_changes():
    with pytest.raises(Invalid, match="body_md"):
        change_plan(plan=snapshot(), values={"body_md": "other"}, actor=SYSTEM)


def test_of_two_changes_at_once_the_second_is_told():
    plan = snapshot()
    mine, theirs = Plan.objects.get(pk=plan.pk), Plan.objects.get(pk=plan.pk)
    change_plan(plan=theirs, values={"status": "approved"}, actor=SYSTEM)
    with pytest.raises(Stale):
        change_plan(plan=mine, values={"status": "done"}, actor=SYSTEM)
    assert Plan.objects.get().status == "approved"


@pytest.mark.parametrize("missing", ["path", "body"])
def test_a_plan_needs_a_path_and_a_text(missing):
    with pytest.raises(Invalid):
        snapshot(**{missing: "  "})
    assert not Plan.objects.exists()


def test_versions_are_numbered_and_one_is_the_newest():
    snapshot()
    snapshot(body="# Refunds\n\n1. [X] all\n> * [ ] quoted\n- [y] no task\n")
    assert list(Plan.objects.order_by("id").values_list("number", "newest", "task_done", "task_count")) == [
        (1, False, 1, 2),
        (2, True, 1, 2),
    ]


def test_a_path_may_be_as_long_as_a_path_can_be():
    snapshot(path="".join(chr(0x4E00 + n % 20000) for n in range(4096)))
    assert Plan.objects.count() == 1
