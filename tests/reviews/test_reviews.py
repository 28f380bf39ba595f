from datetime import timedelta

import pytest

from contextdash import clock
from contextdash.actor import SYSTEM, Actor
from contextdash.errors import Conflict, Invalid, Stale
from contextdash.models import Change
from reviews_app.models import Review
from reviews_app.queries import tallies
from reviews_app.queries.findings import State
from reviews_app.services.reviews import (
    change_review,
    set_resolution,
    set_resolution_of_many,
    severity_name,
    severity_rank,
)
from reviews_app.text import split_target
from sessions_app.models import Session
from tests import factories
from tests.reviews.kit import HASH, log

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("sent", "name", "rank"),
    [
        ("Critical", "Critical", 1),
        ("crit", "Critical", 1),
        (" P1 ", "Critical", 1),
        ("HIGH", "High", 2),
        ("p2", "High", 2),
        ("med", "Medium", 3),
        ("low", "Low", 4),
        ("nit", "Info", 5),
        ("informational", "Info", 5),
        ("catastrophic", "catastrophic", 6),
        ("嚴重", "嚴重", 6),
    ],
)
def test_a_severity_is_known_by_its_aliases_and_anything_else_is_other(sent, name, rank):
    assert severity_rank(sent) == rank
    assert severity_name(sent) == name


def test_the_severity_is_kept_as_sent():
    review = log(severity="Blockbuster")
    assert (review.severity, review.severity_rank) == ("Blockbuster", 6)


@pytest.mark.parametrize(
    ("target", "path", "line"),
    [
        ("src/a.py:84", "src/a.py", 84),
        ("src/a.py:84:5", "src/a.py", 84),
        ("src/a.py:84-90", "src/a.py", 84),
        ("src/a.py#L12-L20", "src/a.py", 12),
        ("src/a.py", "src/a.py", None),
        ("C:\\work\\a.cs:7", "C:\\work\\a.cs", 7),
        ("../../etc/passwd:1", "../../etc/passwd", 1),
        ("https://example.org/x", "https://example.org/x", None),
        ("<b>x</b>", "<b>x</b>", None),
    ],
)
def test_a_target_is_text_with_a_path_and_perhaps_a_line(target, path, line):
    review = log(target=target)
    assert (review.target, review.path) == (target, path)
    assert split_target(target) == (path, line)


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        (HASH, HASH),
        ("sha256-" + HASH, HASH),
        ("sha256:" + HASH, HASH),
        (f"  {HASH.upper()} ", HASH),
        ("not a hash", ""),
        (HASH[:63], ""),
        (None, ""),
        ("", ""),
    ],
)
def test_a_diff_hash_is_kept_as_sent_and_matched_in_one_form(sent, key):
    review = log(diff_hash=sent)
    assert review.diff_hash == (sent.strip() if sent else sent)
    assert review.diff_key == key


def test_a_finding_takes_the_project_of_its_session_and_is_counted_there():
    project = factories.project()
    session = factories.session("s1", project=project)
    review = log(session=session)
    assert review.project == project
    counted = Session.objects.get(id="s1")
    assert counted.review_count == 1
    assert counted.ordinal == 1


def test_an_unknown_session_is_made():
    assert log(session="brand-new").session_id == "brand-new"
    assert Session.objects.get(id="brand-new").review_count == 1


def test_a_later_time_than_now_becomes_now():
    review = log(at=clock.now() + timedelta(days=20_000))
    assert review.ts <= clock.now()


@pytest.mark.parametrize("missing", ["target", "severity", "finding"])
def test_a_finding_needs_a_target_a_severity_and_a_text(missing):
    with pytest.raises(Invalid, match=missing):
        log(**{missing: " "})
    assert not Review.objects.exists()


def test_hostile_text_is_stored_as_text():
    review = log(finding="a\0b\ud83d", target="x\0.py:1", suggested_fix="<script>alert(1)</script>")
    review.refresh_from_db()
    assert review.finding == "a\ufffdb\ufffd"
    assert review.path == "x\ufffd.py"
    assert review.suggested_fix == "<script>alert(1)</script>"


def test_resolving_dismissing_and_reopening_keep_who_and_why(member):
    review = log()
    actor = Actor(user=member)
    set_resolution(review=review, to="resolved", actor=actor, reason="Fixed in 9f3c21e")
    assert review.resolved_at is not None
    set_resolution(review=review, to="reopened", actor=actor, reason="It is back")
    assert review.resolved_at is None
    set_resolution(review=review, to="dismissed", actor=actor, reason="Not ours")
    history = [(c.field, c.old, c.new, c.reason, c.user) for c in Change.objects.order_by("id")]
    assert history == [
        ("resolution", "open", "resolved", "Fixed in 9f3c21e", member),
        ("resolution", "resolved", "reopened", "It is back", member),
        ("resolution", "reopened", "dismissed", "Not ours", member),
    ]


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_a_step_needs_a_reason(reason):
    with pytest.raises(Invalid, match="Say why"):
        set_resolution(review=log(), to="resolved", actor=SYSTEM, reason=reason)
    assert Review.objects.get().resolution == "open"


@pytest.mark.parametrize(
    ("first", "then"), [("resolved", "dismissed"), ("dismissed", "resolved"), (None, "reopened")]
)
def test_a_step_that_the_state_does_not_allow_is_refused(first, then):
    review = log()
    if first:
        set_resolution(review=review, to=first, actor=SYSTEM, reason="x")
    with pytest.raises(Conflict):
        set_resolution(review=review, to=then, actor=SYSTEM, reason="x")


def test_resolving_twice_changes_nothing_the_second_time():
    review = log()
    set_resolution(review=review, to="resolved", actor=SYSTEM, reason="x")
    set_resolution(review=review, to="resolved", actor=SYSTEM, reason="x")
    assert Change.objects.count() == 1
    assert review.version == 2


def test_of_two_who_read_the_same_version_the_second_is_told():
    log()
    mine, theirs = Review.objects.get(), Review.objects.get()
    set_resolution(review=theirs, to="resolved", actor=SYSTEM, reason="x")
    with pytest.raises(Stale):
        set_resolution(review=mine, to="dismissed", actor=SYSTEM, reason="x")
    with pytest.raises(Stale):
        change_review(
            review=Review.objects.get(), values={"severity": "Low"}, actor=SYSTEM, expected_version=1
        )
    assert Review.objects.get().resolution == "resolved"


def test_a_correction_moves_what_is_derived():
    review = log(target="a.py:1", severity="Low")
    change_review(
        review=review,
        values={"target": "b.py:2", "severity": "crit", "diff_hash": "sha256-" + HASH},
        actor=SYSTEM,
    )
    review.refresh_from_db()
    assert (review.path, review.severity, review.severity_rank, review.open_rank) == ("b.py", "crit", 1, 1)
    assert review.diff_key == HASH
    assert set(Change.objects.values_list("field", flat=True)) == {"target", "severity", "diff_hash"}


def test_a_field_that_is_not_a_persons_to_change_is_refused():
    with pytest.raises(Invalid, match="ts"):
        change_review(review=log(), values={"ts": "2020-01-01"}, actor=SYSTEM)


def test_many_are_resolved_together_and_those_that_cannot_are_named():
    first, second, closed = log(), log(), log()
    set_resolution(review=closed, to="dismissed", actor=SYSTEM, reason="x")
    outcome = set_resolution_of_many(
        ids=[first.pk, second.pk, second.pk, closed.pk, 10**12, -1, 2**70],
        to="resolved",
        actor=SYSTEM,
        reason="Swept",
    )
    assert [row.pk for row in outcome.changed] == [first.pk, second.pk]
    assert {pk: error.code for pk, error in outcome.refused} == {
        closed.pk: "conflict",
        10**12: "not_found",
        -1: "not_found",
        2**70: "not_found",
    }


@pytest.mark.parametrize(
    ("ids", "to", "reason"),
    [([], "resolved", "x"), (range(1, 202), "resolved", "x"), ([1], "gone", "x"), ([1], "resolved", " ")],
)
def test_a_bulk_change_needs_findings_a_state_and_a_reason(ids, to, reason):
    with pytest.raises(Invalid):
        set_resolution_of_many(ids=list(ids), to=to, actor=SYSTEM, reason=reason)


def test_the_tally_follows_every_write():
    project = factories.project()
    session = factories.session("s1", project=project)
    first = log(severity="Critical", session=session)
    log(severity="Low")
    log(severity="odd", session=session)
    before = tallies.version()
    set_resolution(review=first, to="resolved", actor=SYSTEM, reason="x")
    change_review(review=Review.objects.get(severity="Low"), values={"severity": "High"}, actor=SYSTEM)
    assert tallies.version() != before
    everything = tallies.counts()
    assert everything.open_by_rank == {1: 0, 4: 0, 2: 1, 6: 1}
    assert everything.closed_by_rank == {1: 1}
    assert everything.by_state == {State.ALL: 3, State.OPEN: 2, State.RESOLVED: 1, State.DISMISSED: 0}
    of_project = tallies.counts(project=project.slug)
    assert (of_project.by_state[State.ALL], of_project.by_state[State.OPEN]) == (2, 1)
    assert tallies.blocking_count() == 1
    assert tallies.reviewers() == ["code-reviewer"]
