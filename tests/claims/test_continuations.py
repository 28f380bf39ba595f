"""The exclusive right to go on where a sealed run ended."""

from typing import Any

import pytest

from contextdash.actor import SYSTEM
from sessions_app.ledger.digests import Identity, boundary_of, prefix_digest
from sessions_app.ledger.envelope import read
from sessions_app.models import ContinuationClaim, Event, Purge, Run
from sessions_app.queries.sessions_api import payload_value
from sessions_app.services.ending import delete_session
from sessions_app.services.purging import purge_session
from tests.ledger.telling import Teller, append, run

pytestmark = pytest.mark.django_db


def identity(of: Run) -> Identity:
    return Identity(of.session.id, of.invocation_id, of.run_id, of.turn.turn_id)


def digest_of(of: Run) -> str:
    """As the run's own writer computes it."""
    rows = Event.objects.filter(run=of).order_by("seq")
    return prefix_digest(
        identity(of), [(row.seq or 0, read(payload_value(row.payload)).text) for row in rows]
    )


def sealed(run_id: str = "run-1", said: str = "Half of it is done.", session: str = "s-1") -> Run:
    made = run(session, f"turn-{run_id}", run_id=run_id, invocation_id=f"inv-{run_id}")
    teller = Teller(made)
    append(
        made, teller.said(f"{run_id}-said", said), teller.end(f"{run_id}-end", "aborted", abortSource="user")
    )
    return Run.objects.select_related("session", "turn").get(key=made.key)


def body(source: Run, number: int = 1, **told: Any) -> dict[str, Any]:
    return {
        "claim_id": f"claim-{number}",
        "source_session_id": source.session.id,
        "source_invocation_id": source.invocation_id,
        "source_run_id": source.run_id,
        "source_turn_id": source.turn.turn_id,
        "source_event_high_water": source.last_seq,
        "source_prefix_digest": digest_of(source),
        "target_session_id": source.session.id,
        "target_invocation_id": f"inv-t{number}",
        "target_run_id": f"run-t{number}",
        "target_turn_id": f"turn-t{number}",
        "target_run_header": {"status": "created"},
        **told,
    }


def start(claim: dict[str, Any], event_id: str = "start", **told: Any) -> dict[str, Any]:
    fact = {
        "claimId": claim["claim_id"],
        "boundaryDigest": claim["boundary_digest"],
        "provenance": "runtime_admission",
        **told,
    }
    return {
        "id": event_id,
        "invocationId": claim["target_invocation_id"],
        "runId": claim["target_run_id"],
        "sessionId": claim["target_session_id"],
        "turnId": claim["target_turn_id"],
        "ts": 1_780_000_100_000,
        "partial": False,
        "role": "system",
        "author": "system",
        "actions": {"continuationStart": fact},
    }


def error(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


def test_the_first_acquires_and_who_comes_second_is_told_of_the_first(api):
    source = sealed()
    first = api.post("continuations", body(source))
    assert (first.status_code, first.json()["result"]) == (201, "acquired")
    assert first.json()["prefix_checked"] is True
    for other in (body(source), body(source, 2)):
        second = api.post("continuations", other)
        assert (second.status_code, second.json()["result"]) == (200, "existing")
        assert second.json()["claim_id"] == "claim-1"
    # Also by the digest alone, whatever else is told.
    named = body(source, 3, boundary_digest=first.json()["boundary_digest"])
    assert api.post("continuations", named).json()["claim_id"] == "claim-1"
    assert ContinuationClaim.objects.count() == 1


def test_the_boundary_is_made_where_none_is_told_and_checked_where_one_is(api):
    source = sealed()
    own = boundary_of(identity(source), last_seq=2, last_event_id="run-1-end", prefix=digest_of(source))
    wrong_end = boundary_of(identity(source), last_seq=1, last_event_id="x", prefix=digest_of(source))
    for told, field in (
        ({"boundary": wrong_end}, "boundary"),
        ({"boundary": {**own, "protocol": "other"}}, "boundary.manifestDigest"),
        ({"boundary": {"protocol": "other", "segments": own["segments"]}}, "boundary"),
        ({"boundary": {"protocol": own["protocol"], "segments": []}}, "boundary"),
        ({"boundary_digest": "sha256:" + "0" * 64}, "boundary_digest"),
        ({"boundary_digest": "none"}, "boundary_digest"),
    ):
        answer = api.post("continuations", body(source, **told))
        assert (answer.status_code, answer.json()["field"]) == (422, field), told
    good = api.post("continuations", body(source, boundary=own, boundary_digest=own["manifestDigest"])).json()
    assert (good["boundary"], good["boundary_digest"]) == (own, own["manifestDigest"])


def test_only_a_sealed_source_that_holds_what_is_told_is_continued(api):
    source = sealed()
    still = run("s-1", "turn-open", run_id="run-open", invocation_id="inv-open")
    append(still, Teller(still).said("open-said", "Working."))
    still.last_seq = 1
    assert error(api.post("continuations", body(still))) == (409, "source_not_sealed")
    for told, code in (
        ({"source_event_high_water": 1}, "prefix_mismatch"),
        ({"source_prefix_digest": "sha256:" + "0" * 64}, "prefix_mismatch"),
        ({"source_turn_id": "another"}, "run_identity_conflict"),
        ({"source_invocation_id": "another"}, "run_identity_conflict"),
    ):
        assert error(api.post("continuations", body(source, **told))) == (409, code), told
    assert api.post("continuations", body(source, source_run_id="nobody")).status_code == 404
    for told in ({"target_session_id": "s-2"}, {"target_run_id": "run-1"}, {"claim_id": "a b"}):
        assert api.post("continuations", body(source, **told)).status_code == 422, told
    assert not ContinuationClaim.objects.exists()


def test_ids_that_another_claim_has_and_targets_that_hold_events_are_conflicts(api):
    one, two = sealed("run-1"), sealed("run-2")
    api.post("continuations", body(one))
    other = body(two, 2)
    for name in ("claim_id", "target_invocation_id", "target_run_id", "target_turn_id"):
        answer = api.post("continuations", {**other, name: body(one)[name]})
        assert error(answer) == (409, "claim_conflict")
        assert answer.json()["field"] == name
    full = {**other, "target_invocation_id": one.invocation_id}
    assert error(api.post("continuations", full)) == (409, "target_not_empty")
    assert api.post("continuations", other).status_code == 201


def test_the_source_takes_no_event_and_the_target_its_start_first(api):
    source = sealed()
    claim = api.post("continuations", body(source)).json()
    with pytest.raises(Exception, match="nothing may follow"):
        append(source, Teller(source).said("more", "More."))
    target = run("s-1", "turn-t1", run_id="run-t1", invocation_id="inv-t1")
    with pytest.raises(Exception, match="continuations/claim-1/start"):
        append(target, Teller(target).said("early", "Early."))
    begun = api.post("continuations/claim-1/start", event=start(claim))
    assert begun.status_code == 201, begun.content
    assert (begun.json()["start_event_id"], begun.json()["start_kind"]) == ("start", "runtime_admission")
    assert Event.objects.get(run=target).seq == 1
    append(target, Teller(target).said("later", "Going on."))
    again = api.post("continuations/claim-1/start", event=start(claim))
    assert again.status_code == 200
    assert error(api.post("continuations/claim-1/start", event=start(claim, "other"))) == (
        *(409, "already_started"),
    )


def test_a_start_opens_the_target_and_must_be_of_its_claim(api):
    claim = api.post("continuations", body(sealed())).json()
    for told, field in (
        ({"claimId": "other"}, "claimId"),
        ({"boundaryDigest": "sha256:" + "0" * 64}, "boundaryDigest"),
        ({"provenance": "other"}, "provenance"),
    ):
        answer = api.post("continuations/claim-1/start", event=start(claim, **told))
        assert (answer.status_code, answer.json()["field"]) == (
            *(422, f"event.actions.continuationStart.{field}"),
        )
    plain = {name: value for name, value in start(claim).items() if name != "actions"}
    assert api.post("continuations/claim-1/start", event=plain).status_code == 422
    foreign = {**start(claim), "runId": "run-1"}
    assert error(api.post("continuations/claim-1/start", event=foreign)) == (409, "identity_conflict")
    assert ContinuationClaim.objects.get().start_event_id is None
    repair = start(claim, provenance="claim_repair")
    assert api.post("continuations/claim-1/start", event=repair).json()["start_kind"] == "claim_repair"
    assert Run.objects.get(run_id="run-t1").last_seq == 1
    assert api.post("continuations/nobody/start", event=repair).status_code == 404


def test_claims_are_listed_by_time_and_id_and_pending_ones_alone(api):
    claims = [api.post("continuations", body(sealed(f"run-{number}"), number)).json() for number in (1, 2, 3)]
    ContinuationClaim.objects.update(claimed_us=7)
    first = api.get("continuations", limit=2).json()
    assert [row["claim_id"] for row in first["items"]] == ["claim-1", "claim-2"]
    second = api.get("continuations", limit=2, cursor=first["next"]).json()
    assert [row["claim_id"] for row in second["items"]] == ["claim-3"]
    assert api.get("continuations", cursor="x").status_code == 422
    api.post("continuations/claim-2/start", event=start(claims[1]))
    pending = api.get("continuations", pending=True, session="s-1").json()["items"]
    assert [row["claim_id"] for row in pending] == ["claim-1", "claim-3"]
    assert api.get("continuations/claim-2").json()["start_event_id"] == "start"


def test_a_source_with_a_masked_secret_is_claimed_unchecked(api):
    source = sealed(said="password ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8")
    told = body(source, source_prefix_digest="sha256:" + "1" * 64)
    answer = api.post("continuations", told)
    assert (answer.status_code, answer.json()["prefix_checked"]) == (201, False)


def test_a_source_whose_events_were_erased_is_not_continued(api, owner):
    source = sealed()
    told = body(source)
    purge_session(session=source.session, actor=SYSTEM, reason="asked")
    assert Purge.objects.get().events_deleted == 2
    assert error(api.post("continuations", told)) == (409, "prefix_mismatch")


def test_of_a_deleted_session_nothing_is_continued(api):
    source = sealed()
    told = body(source)
    delete_session(session=source.session, actor=SYSTEM, reason="a test run")
    assert error(api.post("continuations", told)) == (409, "deleted_session")
