import json
from urllib.parse import unquote

import pytest

from contextdash import clock
from contextdash.actor import SYSTEM
from contextdash.errors import Conflict, Invalid, Malformed
from contextdash.models import Change
from reviews_app.models import Review
from reviews_app.queries.findings import Filters, for_export
from reviews_app.sarif import schema
from reviews_app.sarif.reading import read_sarif
from reviews_app.sarif.writing import write_sarif
from reviews_app.services.reviews import set_resolution
from reviews_app.services.sarif import import_sarif
from sessions_app.models import Tombstone
from tests.reviews.kit import HASH, log

pytestmark = pytest.mark.django_db


def sarif(*results, driver=None, **run):
    tool = {"driver": {"name": "ruff", **(driver or {})}}
    return {"version": "2.1.0", "runs": [{"tool": tool, "results": list(results), **run}]}


def result(text="Unused import", uri="src/app.py", line=4, **values):
    place = {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}}
    return {"message": {"text": text}, "locations": [place], **values}


def take(document, **values):
    return import_sarif(raw=json.dumps(document).encode(), actor=SYSTEM, **values)


def test_a_result_becomes_a_finding():
    take(sarif(result(ruleId="F401", level="error")), session="s1")
    review = Review.objects.get()
    assert (review.target, review.path) == ("src/app.py:4", "src/app.py")
    assert (review.severity, review.severity_rank) == ("High", 2)
    assert (review.finding, review.rule_id, review.reviewer_agent) == ("Unused import", "F401", "ruff")
    assert review.session_id == "s1"


@pytest.mark.parametrize(
    ("values", "rule", "severity"),
    [
        ({"level": "error"}, {}, "High"),
        ({"level": "warning"}, {}, "Medium"),
        ({"level": "note"}, {}, "Low"),
        ({"level": "none"}, {}, "Info"),
        ({}, {}, "Medium"),
        ({"kind": "review"}, {}, "Info"),
        ({}, {"defaultConfiguration": {"level": "error"}}, "High"),
        ({"level": "note"}, {"defaultConfiguration": {"level": "error"}}, "Low"),
        ({}, {"properties": {"security-severity": "9.8"}}, "Critical"),
        ({"level": "error"}, {"properties": {"security-severity": "4.0"}}, "Medium"),
        ({"properties": {"security-severity": 0}}, {}, "Info"),
        ({"properties": {"security-severity": "NaN or so"}}, {}, "Medium"),
        ({"properties": {"severity": "Blockbuster"}}, {}, "Blockbuster"),
    ],
)
def test_severity_comes_from_the_result_its_rule_or_the_standards_default(values, rule, severity):
    document = sarif(result(ruleId="R1", **values), driver={"rules": [{"id": "R1", **rule}]})
    assert read_sarif(json.dumps(document).encode())[0].severity == severity


def test_a_message_is_filled_from_its_rule():
    rules = [{"id": "R1", "messageStrings": {"default": {"text": "{0} is not {{used}} in {1}, {7}"}}}]
    made = result(ruleIndex=0)
    made["message"] = {"id": "default", "arguments": ["os", "a.py"]}
    (found,) = read_sarif(json.dumps(sarif(made, driver={"rules": rules})).encode())
    assert found.finding == "os is not {used} in a.py, {7}"
    assert found.rule_id == "R1"


def test_fixes_and_snippets_are_kept():
    made = result(
        fixes=[
            {
                "description": {"text": "Remove it"},
                "artifactChanges": [
                    {
                        "artifactLocation": {"uri": "src/app.py"},
                        "replacements": [
                            {"deletedRegion": {"startLine": 4}, "insertedContent": {"text": "import sys"}}
                        ],
                    }
                ],
            }
        ]
    )
    made["locations"][0]["physicalLocation"]["contextRegion"] = {
        "startLine": 3,
        "snippet": {"text": "\nimport os\n"},
    }
    (found,) = read_sarif(json.dumps(sarif(made)).encode())
    assert found.suggested_fix == "Remove it\n\nsrc/app.py:4\n\n```\nimport sys\n```"
    assert found.code_context == "\nimport os\n"


def test_what_is_no_finding_is_left_out_and_suppressed_ones_come_in_dismissed():
    take(
        sarif(
            result("passed", kind="pass"),
            result("gone", baselineState="absent"),
            result("quiet", suppressions=[{"kind": "inSource", "justification": "Known"}]),
            result("doubted", suppressions=[{"kind": "external", "status": "underReview"}]),
        )
    )
    assert {row.finding: row.resolution for row in Review.objects.all()} == {
        "quiet": "dismissed",
        "doubted": "open",
    }
    assert Change.objects.get(field="resolution").reason == "Known"


def test_the_same_log_twice_adds_nothing_but_another_diff_is_another_review():
    document = sarif(result(), result("other"), result("other"))
    first = take(document)
    assert (len(first.added), first.known) == (2, 1)
    assert (len(take(document).added), take(document).known) == (0, 3)
    assert len(take(document, diff_hash=HASH).added) == 2
    assert Review.objects.filter(diff_key=HASH).count() == 2


def test_a_result_that_only_moved_is_known_by_its_fingerprint():
    take(sarif(result(line=4, partialFingerprints={"primary/v1": "abc"})))
    assert take(sarif(result(line=40, partialFingerprints={"primary/v1": "abc"}))).known == 1


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ([], "$"),
        ({"runs": []}, "$"),
        ({"version": "2.0.0", "runs": []}, "$.version"),
        ({"version": "2.1.0", "runs": {}}, "$.runs"),
        ({"version": "2.1.0", "runs": [{}]}, "$.runs[0]"),
        ({"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}, "$.runs[0].tool.driver"),
        (sarif({"message": {}}), "$.runs[0].results[0].message"),
        (
            sarif(result(), result(line=0)),
            "$.runs[0].results[1].locations[0].physicalLocation.region.startLine",
        ),
        (sarif(result(), result(level="fatal")), "$.runs[0].results[1].level"),
        (sarif(result(), {**result(), "colour": "red"}), "$.runs[0].results[1]"),
        (sarif(result(guid="not one")), "$.runs[0].results[0].guid"),
        (sarif(result(suppressions=[{}])), "$.runs[0].results[0].suppressions[0]"),
        (sarif(result(fixes=[{"artifactChanges": []}])), "$.runs[0].results[0].fixes[0].artifactChanges"),
        (sarif(driver={"rules": [{"name": "x"}]}), "$.runs[0].tool.driver.rules[0]"),
        (
            sarif(
                {"message": {"text": "x"}, "locations": [{"physicalLocation": {"region": {"startLine": 1}}}]}
            ),
            "$.runs[0].results[0].locations[0].physicalLocation",
        ),
        (
            sarif(
                {
                    "message": {"text": "x"},
                    "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a"}, "region": {}}}],
                }
            ),
            "$.runs[0].results[0].locations[0].physicalLocation.region",
        ),
        # What no finding is read from is as the published schema wants it, too.
        (sarif(result(webRequest={"index": -5})), "$.runs[0].results[0].webRequest.index"),
        (sarif(result(graphs=[{"nodes": [{}]}])), "$.runs[0].results[0].graphs[0].nodes[0]"),
        (
            sarif(result(codeFlows=[{"threadFlows": [{"locations": [{"importance": "dire"}]}]}])),
            "$.runs[0].results[0].codeFlows[0].threadFlows[0].locations[0].importance",
        ),
        (sarif(result(relatedLocations=[{"id": 1}, {"id": 1}])), "$.runs[0].results[0].relatedLocations"),
        (
            sarif(invocations=[{"executionSuccessful": True, "startTimeUtc": "today"}]),
            "$.runs[0].invocations[0].startTimeUtc",
        ),
        (sarif(driver={"informationUri": "no address"}), "$.runs[0].tool.driver.informationUri"),
    ],
)
def test_an_invalid_log_names_the_path_of_its_first_error_and_imports_nothing(document, path):
    with pytest.raises(Invalid) as refused:
        take(document)
    assert refused.value.detail.endswith(f"at `{path}`")
    assert not Review.objects.exists()


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b'{"version": "2.1.0", "runs": [' + b"[" * 300])
def test_what_is_no_json_imports_nothing(raw):
    with pytest.raises((Malformed, Invalid)):
        import_sarif(raw=raw, actor=SYSTEM)
    assert not Review.objects.exists()


def test_a_log_with_too_many_results_imports_nothing():
    with pytest.raises(Invalid, match="5001 results"):
        take(sarif(*[result()] * 5001))


def test_a_log_for_a_deleted_session_imports_nothing():
    Tombstone.objects.create(session_id="gone", deleted_at=clock.now())
    with pytest.raises(Conflict):
        take(sarif(result()), session="gone")
    assert not Review.objects.exists()


@pytest.mark.parametrize(
    "uri", ["../../etc/passwd", "https://example.org/<b>x</b>", "a%20b/%C3%BC.py", "javascript:alert(1)"]
)
def test_a_place_is_text_whatever_it_names(uri):
    take(sarif(result(uri=uri)))
    assert Review.objects.get().target == f"{unquote(uri)}:4"


def test_hostile_text_comes_in_as_text():
    take(sarif(result("<script>alert(1)</script> a\0b \ud83d \x1b[31mred")))
    assert Review.objects.get().finding == "<script>alert(1)</script> a\ufffdb \ufffd \x1b[31mred"


def test_what_goes_out_is_valid_and_comes_back_the_same():
    rows = [
        log(
            severity="crit", target="src/a b.py:7", suggested_fix="Do it", code_context="x = 1", rule_id="R1"
        ),
        log(severity="Blockbuster", target="C:\\x\\ü.cs", diff_hash=HASH, reviewer_agent="tester"),
        log(severity="Low", target="refs/heads/main", finding="**bold** {0}\n\nlong"),
    ]
    set_resolution(review=rows[2], to="resolved", actor=SYSTEM, reason="First")
    set_resolution(review=rows[2], to="reopened", actor=SYSTEM, reason="Back")
    set_resolution(review=rows[2], to="resolved", actor=SYSTEM, reason="Fixed at last")
    reviews, reasons = for_export(Filters(), limit=10)
    raw = write_sarif(reviews, reasons)
    document = json.loads(raw)
    schema.check(document)
    assert [run["tool"]["driver"]["name"] for run in document["runs"]] == ["code-reviewer", "tester"]
    assert import_sarif(raw=raw, actor=SYSTEM).known == 3  # they are here already

    before = {row.pk: row for row in rows}
    Review.objects.update(finding="another row by now")
    added = {row.target: row for row in import_sarif(raw=raw, actor=SYSTEM).added}
    for row in before.values():
        again = added[row.target]
        for name in ("severity", "finding", "suggested_fix", "code_context", "rule_id", "diff_hash"):
            assert getattr(again, name) == getattr(row, name), name
        assert again.resolution == row.resolution
    assert reasons == {rows[2].pk: "Fixed at last"}


def test_our_own_log_adds_nothing_whatever_blanks_its_texts_end_with():
    log(finding="  Blanks around\n\n ", target="a.py:1")
    log(finding="x", target="a.py")
    assert import_sarif(raw=write_sarif(*for_export(Filters(), limit=10)), actor=SYSTEM).known == 2


def test_the_api_takes_and_gives_logs(api, make_api):
    answer = api.client.post(
        "/api/v1/reviews/sarif?session_id=s1",
        json.dumps(sarif(result())),
        content_type="application/sarif+json",
        headers=api.headers,
    )
    assert answer.status_code == 200, answer.content
    assert len(answer.json()["added"]) == 1
    given = api.get("reviews/sarif", session="s1")
    assert given["Content-Type"] == "application/sarif+json"
    assert len(given.json()["runs"][0]["results"]) == 1
    refused = api.post("reviews/sarif", {"version": "2.1.0", "runs": [{"tool": 1}]})
    assert refused.status_code == 422
    assert "`$.runs[0].tool`" in refused.json()["detail"]
    assert make_api("read").post("reviews/sarif", sarif(result("x"))).status_code == 403
