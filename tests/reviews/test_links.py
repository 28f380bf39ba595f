"""Decisions, findings and stories are tied to each other, from the page of either and by the API."""

import pytest

from backlog_app.models import StoryLink
from backlog_app.services.relations import link_story
from backlog_app.services.stories import add_story
from contextdash.actor import SYSTEM
from contextdash.models import Change
from reviews_app.models import FindingDecision
from reviews_app.services.links import link_decision
from reviews_app.services.reviews import log_review
from sessions_app.services.decisions import log_decision

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script> \x1b[31mRED"


@pytest.fixture
def finding():
    return log_review(target="a.py:3", severity="High", finding="Shared without a lock.", actor=SYSTEM)


@pytest.fixture
def decision():
    return log_decision(topic="retry", choice="one budget per request", actor=SYSTEM)


def test_the_page_of_each_shows_the_other_and_cuts_the_tie(page, finding, decision):
    page.post(
        "/reviews/link/",
        {"decision": decision.pk, "ref": f"r-{finding.pk}", "next": f"/decisions/{decision.pk}/"},
    )
    assert FindingDecision.objects.filter(review=finding, decision=decision).exists()
    assert "Shared without a lock." in page.get(f"/decisions/{decision.pk}/").content.decode()
    body = page.get(f"/reviews/{finding.pk}/").content.decode()
    assert "retry: one budget per request" in body
    assert f"D-{decision.pk}" in body
    answer = page.post("/reviews/unlink/", {"finding": finding.pk, "ref": decision.pk})
    assert answer["Location"] == f"/reviews/{finding.pk}/"
    assert not FindingDecision.objects.exists()


def test_both_histories_tell_who_tied_them_and_twice_is_once(page, member, finding, decision):
    for _ in range(2):
        page.post("/reviews/link/", {"finding": finding.pk, "ref": f"D-{decision.pk}"})
    told = Change.objects.filter(user=member).values_list("noun", "row_id", "field", "new")
    assert sorted(told) == [
        ("decisions", str(decision.pk), "finding", f"R-{finding.pk}"),
        ("reviews", str(finding.pk), "decision", f"D-{decision.pk}"),
    ]


def test_an_open_page_of_either_sees_a_new_tie(page, finding, decision):
    pages = [f"/decisions/{decision.pk}/", f"/reviews/{finding.pk}/"]
    versions = {path: page.get(path).headers["X-Version"] for path in pages}
    link_decision(review=finding, decision=decision, actor=SYSTEM)
    for path, version in versions.items():
        assert page.get(path, {"v": version}).status_code == 200, path


@pytest.mark.parametrize("kind", ["decision", "finding"])
def test_a_story_is_tied_from_the_page_of_a_decision_or_finding(page, finding, decision, kind):
    story = add_story(story="Guard the budget", actor=SYSTEM)
    of, path = {
        "decision": (decision.pk, f"/decisions/{decision.pk}/"),
        "finding": (finding.pk, f"/reviews/{finding.pk}/"),
    }[kind]
    sent = {"kind": kind, "of": of, "ref": f"S-{story.pk}", "next": path}
    assert page.post("/board/link/", sent)["Location"] == path
    assert StoryLink.objects.filter(story=story, kind=kind, ref=str(of)).exists()
    assert "Guard the budget" in page.get(path).content.decode()
    page.post("/board/unlink/", sent)
    assert not StoryLink.objects.exists()


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/reviews/link/", {"ref": "nonsense", "decision": "1"}),
        ("/reviews/link/", {"ref": "9" * 30, "decision": "1"}),
        ("/reviews/link/", {}),
        ("/board/link/", {"kind": "session", "of": "1", "ref": "1"}),
        ("/board/link/", {"kind": "decision", "of": "-1", "ref": "1"}),
        ("/board/link/", {"kind": "decision", "of": "1", "ref": "\0"}),
        ("/board/link/", {"kind": "decision", "of": "1", "ref": "99999"}),
        ("/board/unlink/", {"kind": "decision", "of": "1", "ref": "99999"}),
    ],
)
def test_what_names_nothing_is_refused(page, path, sent):
    assert page.post(path, sent).status_code in (404, 422)
    assert not FindingDecision.objects.exists()
    assert not StoryLink.objects.exists()


def test_a_viewer_reads_the_ties_and_makes_none(client, viewer, finding, decision):
    link_decision(review=finding, decision=decision, actor=SYSTEM)
    client.force_login(viewer)
    assert 'action="/reviews/link/"' not in client.get(f"/decisions/{decision.pk}/").content.decode()
    sent = {"finding": finding.pk, "ref": decision.pk}
    assert client.post("/reviews/unlink/", sent).status_code == 403
    assert client.post("/board/link/", {"kind": "finding", "of": 1, "ref": 1}).status_code == 403


def test_the_api_ties_lists_and_cuts(api, finding, decision):
    story = add_story(story="Guard the budget", actor=SYSTEM)
    link_story(story_id=story.pk, kind="decision", ref=str(decision.pk), actor=SYSTEM)
    path = f"reviews/{finding.pk}/decisions"
    assert api.post(path, decision_id=decision.pk).status_code == 201
    assert [row["id"] for row in api.get(path).json()["items"]] == [decision.pk]
    links = api.get(f"decisions/{decision.pk}").json()["links"]
    assert [(row["kind"], row["ref"], row["state"]) for row in links] == [
        ("finding", str(finding.pk), "open"),
        ("story", str(story.pk), "todo"),
    ]
    gone = api.client.delete(f"/api/v1/{path}/{decision.pk}?reason=wrong", headers=api.headers)
    assert gone.status_code == 204
    assert api.get(path).json()["items"] == []
    assert api.post(path, decision_id=999_999).status_code == 404
    assert api.client.delete(f"/api/v1/{path}/{decision.pk}", headers=api.headers).status_code == 404


def test_hostile_words_stay_words(page):
    finding = log_review(target="a.py", severity="High", finding=HOSTILE, actor=SYSTEM)
    decision = log_decision(topic=HOSTILE, choice=HOSTILE, actor=SYSTEM)
    link_decision(review=finding, decision=decision, actor=SYSTEM)
    for path in (f"/decisions/{decision.pk}/", f"/reviews/{finding.pk}/"):
        body = page.get(path).content.decode()
        assert "<script>alert" not in body
        assert "\x1b" not in body


def test_a_page_with_many_ties_costs_few_queries(page, finding, decision, django_assert_max_num_queries):
    for number in range(12):
        other = log_review(target=f"{number}.py", severity="Low", finding="x", actor=SYSTEM)
        link_decision(review=other, decision=decision, actor=SYSTEM)
    with django_assert_max_num_queries(12):
        page.get(f"/decisions/{decision.pk}/", headers={"HX-Request": "true"})
