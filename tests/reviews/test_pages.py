import json
import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from contextdash import clock
from contextdash.actor import SYSTEM
from contextdash.diffhash import diff_hash
from reviews_app.models import Review
from reviews_app.services.reviews import set_resolution
from sessions_app.models import HookEvent
from sessions_app.registry import Window, registry
from tests import factories
from tests.reviews.kit import HASH, log

pytestmark = pytest.mark.django_db

EVIL = '<b>bold</b><img src="x" onerror="alert(\'testing\')"><script>alert(1)</script>'
LINK = "\x1b]8;;javascript:alert(1)\x07go\x1b]8;;\x07"
DIFF = "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-a\n+b\n"


def text_of(answer):
    assert answer.status_code == 200
    return answer.content.decode()


def rows_of(answer):
    return [int(pk) for pk in re.findall(r'data-row="r-(\d+)"', text_of(answer))]


def test_an_empty_page_says_the_next_step(page):
    html = text_of(page.get("/reviews/"))
    assert "No finding yet" in html
    assert "contextdash review " in html


def test_open_findings_are_listed_worst_first_and_newest_first_within(page):
    low = log(severity="Low")
    other = log(severity="Blockbuster")
    older = log(severity="Critical", at=clock.now() - timedelta(hours=1))
    newer = log(severity="crit")
    closed = log(severity="Critical")
    set_resolution(review=closed, to="resolved", actor=SYSTEM, reason="x")
    assert rows_of(page.get("/reviews/")) == [newer.pk, older.pk, low.pk, other.pk]
    assert rows_of(page.get("/reviews/?state=resolved")) == [closed.pk]
    assert len(rows_of(page.get("/reviews/?state=all"))) == 5


def test_filters_are_in_the_address(page):
    project = factories.project()
    session = factories.session("s1", project=project)
    mine = log(target="api/x.py:1", severity="High", diff_hash=HASH, reviewer_agent="tester", session=session)
    log(target="other/x.py:1", severity="Low")
    for query in (
        "severity=high",
        "file=api/x.py",
        "file=api",
        "file=api/",
        f"diff={HASH}",
        f"diff={HASH[:9]}",
        "reviewer=tester",
        "session=s1",
        f"project={project.slug}",
    ):
        assert rows_of(page.get(f"/reviews/?{query}")) == [mine.pk], query


def test_a_filter_without_hits_names_it_and_can_be_cleared(page):
    log()
    html = text_of(page.get("/reviews/?reviewer=nobody&order=file"))
    assert "Looked for reviewer nobody." in html
    assert 'href="/reviews/?order=file"' in html


@pytest.mark.parametrize(
    "query",
    [
        "severity=gone&state=gone&order=gone",
        "finding=0",
        "finding=" + "9" * 30,
        "finding=x",
        "diff=%27--",
        "project=nowhere",
        "gate=" + "z" * 300,
        f"gate={HASH}&skip=%3Cscript%3E",
    ],
)
def test_an_address_that_makes_no_sense_is_a_page_all_the_same(page, query):
    log()
    assert page.get(f"/reviews/?{query}").status_code == 200


def test_an_unknown_place_in_the_list_is_refused(page):
    assert page.get("/reviews/?after=77").status_code == 422
    assert page.get("/reviews/?after=x").status_code == 422
    assert page.get("/reviews/?after=" + "9" * 40).status_code == 422


@pytest.mark.parametrize("order", ["severity", "file", "diff"])
def test_pages_follow_each_other_without_gap_or_repetition(page, order):
    made = set()
    for n in range(120):
        severity = ("Critical", "Low", "odd")[n % 3]
        made.add(log(severity=severity, target=f"src/f{n % 7}.py:{n}", diff_hash=f"{n % 40:064x}").pk)
    seen: list[int] = []
    url = f"/reviews/?order={order}"
    while url:
        answer = page.get(url)
        seen += rows_of(answer)
        found = re.search(r'href="([^"]+)" rel="next"', answer.content.decode())
        url = found[1].replace("&amp;", "&") if found else ""
    assert len(seen) == len(set(seen))
    # The empty diff's kin of zeros is a hash like any other, so nothing is left out.
    assert set(seen) == made


def test_findings_of_one_diff_stand_together(page):
    first = log(diff_hash="a" * 64, severity="Low")
    between = log(diff_hash="b" * 64)
    second = log(diff_hash="a" * 64, severity="Critical")
    log(diff_hash=None)
    answer = page.get("/reviews/?order=diff")
    assert rows_of(answer) == [second.pk, first.pk, between.pk]
    assert "2 findings, 2 open" in answer.content.decode()
    assert "1 finding, 1 open" in answer.content.decode()


def test_rows_say_whether_their_diff_is_fresh_stale_or_blocked(page):
    log(diff_hash="a" * 64, severity="Low")
    log(diff_hash="b" * 64, severity="Low", at=clock.now() - timedelta(hours=3))
    log(diff_hash="c" * 64, severity="High")
    html = text_of(page.get("/reviews/"))
    for word in ("Fresh", "Stale", "Blocked"):
        assert word in html


def test_one_finding_has_its_page_with_its_history(page, member):
    review = log(diff_hash=HASH, suggested_fix="-a\n+b\n", code_context="@@ -1 +1 @@\n-a\n+b\n")
    other = log(diff_hash=HASH, finding="Another of the same diff.")
    page.post(
        reverse("review_state", args=[review.pk]), {"to": "resolved", "reason": "Fixed it", "version": "1"}
    )
    html = text_of(page.get(reverse("review", args=[review.pk])))
    assert "Resolved by <b>mia</b>" in html
    assert "Fixed it" in html
    assert reverse("review", args=[other.pk]) in html
    assert html.count('<table class="diff">') == 2
    assert page.get("/reviews/999/").status_code == 404
    assert page.get(f"/reviews/{2**70}/").status_code == 404


def test_resolving_from_the_list_comes_back_to_it_and_can_be_undone(page):
    review = log()
    answer = page.post(
        reverse("review_state", args=[review.pk]),
        {"to": "dismissed", "reason": "Noise", "version": "1", "next": "/reviews/?order=file"},
    )
    assert (answer.status_code, answer["Location"]) == (302, "/reviews/?order=file")
    html = text_of(page.get("/reviews/"))
    assert f"R-{review.pk} dismissed" in html
    assert f'form="undo" name="ids" value="{review.pk}">Undo</button>' in html
    page.post(reverse("reviews_bulk"), {"ids": str(review.pk), "to": "reopened", "reason": "Undone"})
    assert Review.objects.get().resolution == "reopened"


@pytest.mark.parametrize("wanted", ["https://evil.example/", "//evil.example", "/\\evil.example", "x:y"])
def test_the_way_back_never_leads_elsewhere(page, wanted):
    review = log()
    answer = page.post(
        reverse("review_state", args=[review.pk]), {"to": "resolved", "reason": "x", "next": wanted}
    )
    assert answer["Location"] == "/reviews/"


def test_a_page_that_is_out_of_date_is_told_so(page):
    review = log()
    set_resolution(review=Review.objects.get(), to="resolved", actor=SYSTEM, reason="x")
    answer = page.post(
        reverse("review_state", args=[review.pk]), {"to": "dismissed", "reason": "y", "version": "1"}
    )
    assert answer.status_code == 412
    assert Review.objects.get().resolution == "resolved"


def test_a_step_without_a_reason_is_refused(page):
    review = log()
    answer = page.post(reverse("review_state", args=[review.pk]), {"to": "resolved", "reason": " "})
    assert answer.status_code == 422
    assert Review.objects.get().resolution == "open"


def test_many_are_closed_together_and_what_did_not_change_is_named(page):
    first, second, closed = log(), log(), log()
    set_resolution(review=closed, to="resolved", actor=SYSTEM, reason="x")
    page.post(
        reverse("reviews_bulk"),
        {"ids": [first.pk, second.pk, closed.pk], "to": "dismissed", "reason": "Swept"},
    )
    html = text_of(page.get("/reviews/"))
    assert "2 findings dismissed" in html
    assert f"Not changed: R-{closed.pk}." in html
    assert page.post(reverse("reviews_bulk"), {"to": "resolved", "reason": "x"}).status_code == 422


def test_a_viewer_reads_and_changes_nothing(client, viewer):
    client.force_login(viewer)
    review = log()
    html = text_of(client.get("/reviews/"))
    assert "Resolve" not in html.replace("Resolved", "")
    assert 'type="checkbox" form="bulk"' not in html
    for url in (
        reverse("review_state", args=[review.pk]),
        reverse("reviews_bulk"),
        reverse("reviews_gate"),
        reverse("reviews_sarif_import"),
    ):
        assert client.post(url, {"to": "resolved", "reason": "x"}).status_code == 403
    assert Review.objects.get().resolution == "open"


@pytest.mark.parametrize("url", ["/reviews/", "/reviews/1/", "/reviews/trends/", "/reviews/sarif/"])
def test_nobody_reads_without_a_sign_in(client, url):
    log()
    assert client.get(url).status_code == 302


def test_the_gate_box_answers_for_a_hash_a_pasted_diff_and_a_file(page):
    log(diff_hash=diff_hash(DIFF.encode()), severity="Critical")
    blocked = page.post(reverse("reviews_gate"), {"diff_hash": diff_hash(DIFF.encode())[:10]}, follow=True)
    assert "1 Critical open on" in text_of(blocked)
    # A browser sends CRLF line ends, and a paste may lose the last one.
    pasted = page.post(
        reverse("reviews_gate"), {"diff": DIFF.rstrip("\n").replace("\n", "\r\n")}, follow=True
    )
    assert "1 Critical open on" in text_of(pasted)
    raw = DIFF.encode() + b"+caf\xe9\n"
    file = page.post(reverse("reviews_gate"), {"file": SimpleUploadedFile("x.diff", raw)}, follow=True)
    assert f"Nobody reviewed {diff_hash(raw)[:8]}." in text_of(file)
    docs = page.post(reverse("reviews_gate"), {"diff": DIFF.replace("app.py", "README.md")}, follow=True)
    assert "Only documents" in text_of(docs)
    answers = [
        json.loads(p)["answer"]
        for p in HookEvent.objects.order_by("id").values_list("payload_json", flat=True)
    ]
    assert answers == ["blocked", "blocked", "unknown", "skipped"]


def test_a_question_the_gate_cannot_read_is_shown_with_what_is_wrong(page):
    html = text_of(page.post(reverse("reviews_gate"), {"diff_hash": "nonsense <x>"}, follow=True))
    assert "This is no diff hash" in html
    assert 'value="nonsense &lt;x&gt;"' in html
    assert not HookEvent.objects.exists()


def test_the_cache_rate_counts_our_gate_and_the_older_one(page):
    for hook, outcome in (
        ("contextdash-gate", "ok"),
        ("20-autoreview.csx", "fail"),
        ("contextdash-gate", "skip"),
    ):
        HookEvent.objects.create(hook_name=hook, event_type="beforeCommit", outcome=outcome, ts=clock.now())
    HookEvent.objects.create(hook_name="21-build-gate.csx", event_type="x", outcome="fail", ts=clock.now())
    HookEvent.objects.create(
        hook_name="contextdash-gate", event_type="x", outcome="ok", ts=clock.now() - timedelta(days=8)
    )
    html = text_of(page.get("/reviews/"))
    assert "50%" in html
    assert "1 of 2 saved a review" in html


def test_trends_show_each_day(page):
    log(severity="Critical", at=clock.now() - timedelta(days=3))
    closed = log()
    set_resolution(review=closed, to="resolved", actor=SYSTEM, reason="x")
    HookEvent.objects.create(hook_name="contextdash-gate", event_type="x", outcome="ok", ts=clock.now())
    answer = page.get("/reviews/trends/")
    html = text_of(answer)
    assert html.count('<th scope="row">') == 28
    assert answer.context["sums"] == {"found": 2, "closed": 1, "hits": 1, "asked": 1, "skipped": 0}
    project = factories.project()
    assert page.get(f"/reviews/trends/?project={project.slug}").context["sums"]["closed"] == 0


def test_a_sarif_file_comes_in_and_goes_out(page):
    document = {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "ruff"}}, "results": [{"message": {"text": "Unused import"}}]}],
    }
    file = SimpleUploadedFile("x.sarif", json.dumps(document).encode())
    html = text_of(page.post(reverse("reviews_sarif_import"), {"file": file}, follow=True))
    assert "1 finding imported" in html
    answer = page.get("/reviews/sarif/?state=all")
    assert "attachment" in answer["Content-Disposition"]
    assert json.loads(answer.content)["runs"][0]["results"][0]["message"]["text"] == "Unused import"
    bad = SimpleUploadedFile("x.sarif", b'{"version": "2.1.0", "runs": [7]}')
    html = text_of(page.post(reverse("reviews_sarif_import"), {"file": bad}, follow=True))
    assert "Nothing was imported." in html
    assert "$.runs[0]" in html


def test_a_live_page_answers_204_until_something_is_written(page, django_assert_max_num_queries):
    review = log()
    version = page.get("/reviews/")["X-Version"]
    with django_assert_max_num_queries(4):  # the session, the user, and two for the version
        assert page.get("/reviews/", {"v": version}).status_code == 204
    assert page.get(f"/reviews/{review.pk}/", {"v": version}).status_code == 204
    log()
    answer = page.get("/reviews/", {"v": version}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert answer.content.decode().lstrip().startswith('<div id="live"')


def test_agent_text_is_shown_as_text_everywhere(page):
    session = factories.session("s1")
    review = log(
        severity=EVIL,
        target=EVIL,
        finding=EVIL
        + " \x1b[31mFAIL\x1b[0m\n\n[x](javascript:alert(1)) \x1b]8;;javascript:alert(1)\x07go\x1b]8;;\x07",
        suggested_fix=EVIL,
        code_context="@@ -1 +1 @@\n+" + EVIL,
        reviewer_agent=EVIL,
        diff_hash=EVIL,
        rule_id=EVIL,
        session=session,
    )
    set_resolution(review=review, to="resolved", actor=SYSTEM, reason=EVIL)
    for url in (
        "/reviews/?state=all",
        "/reviews/?state=all&order=file",
        f"/reviews/{review.pk}/",
        "/reviews/?" + "reviewer=" + "%3Cscript%3Ealert(1)%3C/script%3E",
    ):
        html = text_of(page.get(url))
        for piece in ("<script>alert", "<img src", "<b>bold", "\x1b", 'javascript:alert(1)"'):
            assert piece not in html, (url, piece)


def test_the_list_keeps_its_budget_of_queries(page, django_assert_max_num_queries):
    for n in range(60):
        log(diff_hash=f"{n % 9:064x}", session=f"s{n % 5}")
    with django_assert_max_num_queries(30):
        page.get("/reviews/")
    with django_assert_max_num_queries(14):
        page.get("/reviews/", {"v": "old"}, headers={"HX-Request": "true"})
    with django_assert_max_num_queries(18):
        page.get("/reviews/?order=diff", {"v": "old"}, headers={"HX-Request": "true"})


def test_a_session_page_shows_its_findings(page):
    session = factories.session("s1")
    review = log(session=session, finding=EVIL)
    log(session="s2")
    rows = registry.timeline["finding"](session, Window(0, 2**60, 10))
    assert [(row.key, row.agent) for row in rows] == [(f"r-{review.pk}", "code-reviewer")]
    panel = registry.panels["reviews"]
    session.refresh_from_db()
    assert panel.count(session) == 1
    assert [row.pk for row in panel.context(session)["findings"]] == [review.pk]


def test_a_finding_of_five_megabytes_is_shown_in_part_and_lists_do_not_read_it(page):
    big = "A beginning.\n\n" + "long text of a finding. " * 210_000
    review = log(finding=big, suggested_fix="+x\n" * 1_500_000, diff_hash=HASH)
    log(diff_hash=HASH)
    listed = page.get("/reviews/?order=diff&finding=0")
    assert len(listed.content) < 100_000
    assert "A beginning" in listed.content.decode()
    html = text_of(page.get(f"/reviews/{review.pk}/"))
    assert len(html) < 2_000_000
    assert "characters more are not shown" in html
    answer = page.get(f"/api/v1/reviews/{review.pk}")
    assert answer.json()["finding"] == big


def test_a_person_logs_a_finding(page):
    told = {
        "target": "../x.py:3",
        "severity": "High",
        "finding": "No lock.\r\n\r\nTwo writers.",
        "diff_hash": HASH,
        "suggested_fix": "--- a/x.py\r\n+++ b/x.py\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n",
    }
    answer = page.post("/reviews/log/", told)
    review = Review.objects.get()
    assert answer["Location"] == f"/reviews/{review.pk}/"
    assert (review.reviewer_agent, review.diff_key, review.finding) == (
        "mia",
        HASH,
        "No lock.\n\nTwo writers.",
    )
    shown = page.get(answer["Location"]).text
    assert 'class="diff' in shown  # a suggestion that is a diff is drawn as one
    assert page.post("/reviews/log/", told | {"finding": ""}).status_code == 422
    assert Review.objects.count() == 1


def test_how_long_a_review_is_fresh_is_chosen_and_shown(page, settings):
    log(diff_hash=HASH, severity="Info", at=clock.now() - timedelta(minutes=90))
    assert "Fresh" in page.get(f"/reviews/?gate={HASH}").text
    chosen = page.post("/reviews/gate/", {"diff_hash": HASH, "window": "30m"})["Location"]
    assert "window=30m" in chosen
    body = page.get(chosen).text
    assert "Stale" in body
    assert "a review counts for 30 minutes" in body
    assert "of the last 6 hours" in page.get("/reviews/?window=6h").text
    assert "of the last 2 hours" in page.get("/reviews/?window=nonsense").text
    settings.GATE_WINDOW = timedelta(hours=1)
    assert "a review counts for 1 hour" in page.get(f"/reviews/?gate={HASH}").text
