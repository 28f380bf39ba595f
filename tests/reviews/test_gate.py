import json
from datetime import timedelta

import pytest

from contextdash import clock
from contextdash.actor import SYSTEM
from contextdash.diffhash import diff_hash
from contextdash.errors import Invalid
from contextdash.ids import EMPTY_DIFF
from reviews_app.queries.diffs import Answer, fresh_review, judge, states_of
from reviews_app.services.gate import ask_gate, asked_by_diff, asked_by_hash, window_of
from reviews_app.services.reviews import set_resolution
from sessions_app.models import HookEvent, Session
from tests.reviews.kit import HASH, log

pytestmark = pytest.mark.django_db

WINDOW = timedelta(hours=2)
DIFF = b"diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-a\n+b\n"
DOCS = b"diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-a\n+b\n"


def ask(asked, window=WINDOW, **values):
    verdict = ask_gate(asked=asked, window=window, actor=SYSTEM, **values)
    event = HookEvent.objects.order_by("-id").first()
    return verdict, event.outcome, json.loads(event.payload_json)


def ago(**values):
    return clock.now() - timedelta(**values)


def test_a_diff_that_nobody_reviewed_is_unknown():
    verdict, outcome, payload = ask(asked_by_hash(HASH))
    assert verdict.answer == Answer.UNKNOWN
    assert not verdict.passes
    assert outcome == "fail"
    assert payload == {"answer": "unknown", "hash": HASH, "reason": "no-fresh-review"}


def test_a_fresh_review_opens_the_gate():
    log(diff_hash=HASH.upper(), severity="Info", finding="No significant correctness findings.")
    verdict, outcome, payload = ask(asked_by_hash("sha256-" + HASH))
    assert verdict.answer == Answer.FRESH
    assert verdict.passes
    assert (outcome, payload) == ("ok", {"answer": "fresh", "hash": HASH, "cached": True})


def test_a_review_outside_the_window_is_stale():
    log(diff_hash=HASH, severity="Low", at=ago(hours=3))
    assert ask(asked_by_hash(HASH))[0].answer == Answer.STALE
    assert ask(asked_by_hash(HASH), timedelta(hours=4))[0].answer == Answer.FRESH


@pytest.mark.parametrize("severity", ["Critical", "High", "p1", "HIGH"])
def test_open_critical_and_high_findings_shut_the_gate_until_they_are_closed(severity):
    review = log(diff_hash=HASH, severity=severity, at=ago(days=5))
    log(diff_hash=HASH, severity="Info")
    verdict, outcome, payload = ask(asked_by_hash(HASH))
    assert verdict.answer == Answer.BLOCKED
    assert verdict.critical + verdict.high == 1
    assert (outcome, payload["reason"]) == ("fail", "open-findings")
    assert [row.severity_rank for row in verdict.rows] == sorted(row.severity_rank for row in verdict.rows)
    set_resolution(review=review, to="resolved", actor=SYSTEM, reason="Fixed")
    assert ask(asked_by_hash(HASH))[0].answer == Answer.FRESH
    set_resolution(review=review, to="reopened", actor=SYSTEM, reason="Not fixed")
    assert ask(asked_by_hash(HASH))[0].answer == Answer.BLOCKED


@pytest.mark.parametrize("severity", ["Medium", "Low", "Info", "catastrophic"])
def test_other_severities_do_not_shut_it(severity):
    log(diff_hash=HASH, severity=severity)
    assert ask(asked_by_hash(HASH))[0].answer == Answer.FRESH


def test_a_posted_diff_is_found_by_the_hash_that_the_hook_computes():
    log(diff_hash=diff_hash(DIFF), severity="Low")
    verdict, _, payload = ask(asked_by_diff(DIFF))
    assert verdict.answer == Answer.FRESH
    assert payload["fileCount"] == 1


def test_a_posted_diff_that_is_not_utf8_is_found_too():
    raw = DIFF + b"+caf\xe9\n"
    log(diff_hash=diff_hash(raw), severity="Low")
    assert ask(asked_by_diff(raw))[0].answer == Answer.FRESH


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (asked_by_diff(DOCS), "docs-only"),
        (asked_by_diff(b""), "no-staged-files"),
        (lambda: asked_by_hash(EMPTY_DIFF), "no-staged-files"),
        (lambda: asked_by_hash(HASH, files=["a.md"]), "docs-only"),
        (lambda: asked_by_hash(HASH, skip="env-override"), "env-override"),
    ],
)
def test_documents_an_empty_diff_and_an_override_are_skipped_and_recorded(asked, reason):
    log(diff_hash=HASH, severity="Critical")
    log(diff_hash=EMPTY_DIFF, severity="Critical")
    verdict, outcome, payload = ask(asked() if callable(asked) else asked)
    assert verdict.answer == Answer.SKIPPED
    assert verdict.passes
    assert (outcome, payload["reason"]) == ("skip", reason)


def test_the_start_of_a_known_hash_is_enough_when_it_is_the_only_one():
    log(diff_hash=HASH, severity="Low")
    assert asked_by_hash(HASH[:8]).key == HASH
    log(diff_hash=HASH[:8] + "0" * 56, severity="Low")
    with pytest.raises(Invalid, match="no diff hash"):
        asked_by_hash(HASH[:8])


@pytest.mark.parametrize("text", ["", "abc", "nothex!", "27d3b0", HASH + "0", "'; drop table", "z" * 64])
def test_what_is_no_hash_is_refused(text):
    log(diff_hash=HASH)
    with pytest.raises(Invalid):
        asked_by_hash(text)


@pytest.mark.parametrize("window", ["", None, "90s", "30m", "2h", "30d"])
def test_windows(window):
    assert window_of(window) > timedelta(0)


@pytest.mark.parametrize("window", ["0s", "31d", "999999d", "2", "h", "-1h", "1.5h", "2 hours"])
def test_what_is_no_window_is_refused(window):
    with pytest.raises(Invalid, match="window"):
        window_of(window)


def test_an_answer_belongs_to_the_session_that_asked():
    ask(asked_by_hash(HASH), session_id="s1")
    event = HookEvent.objects.get()
    assert (event.session_id, event.hook_name, event.event_type) == ("s1", "contextdash-gate", "beforeCommit")
    assert Session.objects.get(id="s1").hook_count == 1


def test_fresh_is_any_row_within_the_window_whatever_its_severity():
    assert fresh_review(HASH, window=WINDOW) is None
    old = log(diff_hash=HASH, severity="Critical", at=ago(hours=3))
    assert fresh_review(HASH, window=WINDOW) is None
    assert fresh_review(HASH, window=timedelta(hours=4)) == old
    log(diff_hash="  odd text ")
    assert fresh_review("odd text", window=WINDOW) is not None
    log(diff_hash=EMPTY_DIFF)
    assert fresh_review(EMPTY_DIFF, window=WINDOW) is None


def test_states_of_many_diffs_take_one_query(django_assert_num_queries):
    log(diff_hash="a" * 64, severity="High")
    log(diff_hash="b" * 64, severity="Low")
    log(diff_hash="c" * 64, severity="Low", at=ago(days=1))
    with django_assert_num_queries(1):
        states = states_of(["a" * 64, "b" * 64, "c" * 64, "", "d" * 64], window=WINDOW)
    assert {key[0]: state.answer.value for key, state in states.items()} == {
        "a": "blocked",
        "b": "fresh",
        "c": "stale",
    }


def test_the_gate_judges_with_few_queries(django_assert_max_num_queries):
    for n in range(60):
        log(diff_hash=HASH, finding=f"{n}", severity="Low")
    with django_assert_max_num_queries(2):
        verdict = judge(HASH, window=WINDOW)
    assert len(verdict.rows) == 50
