"""The claims of a whole workspace of a ledger client, replayed through the services between its events."""

import gzip
import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from contextdash.actor import SYSTEM
from contextdash.errors import Conflict
from sessions_app.ledger.digests import Identity, stream_key
from sessions_app.ledger.envelope import read
from sessions_app.models import ContinuationClaim, Run, Session, SubagentSpawn, Tombstone, ToolCall
from sessions_app.queries.capabilities import capabilities
from sessions_app.queries.continuations import claim_page
from sessions_app.queries.epochs import epoch
from sessions_app.queries.partials import partials_of
from sessions_app.queries.session import family_of, find_session
from sessions_app.services.capabilities import declare_capability
from sessions_app.services.continuations import Wanted, claim_continuation, start_continuation
from sessions_app.services.ending import delete_session
from sessions_app.services.epochs import Opened, open_epoch
from sessions_app.services.labels import labels_of
from sessions_app.services.partials import write_partial
from sessions_app.services.sessions import change_session, ensure_session
from sessions_app.services.spawns import Place, Proposal, claim_spawn
from tests.ledger.test_replay_fixture import replay

pytestmark = pytest.mark.django_db

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def ledger() -> dict[str, Any]:
    return json.loads(gzip.decompress((DATA / "ledger" / "replay.json.gz").read_bytes()))


@pytest.fixture(scope="module")
def claims() -> dict[str, Any]:
    return json.loads((DATA / "claims" / "claims.json").read_text(encoding="utf-8"))


def part(ledger: dict[str, Any], run_id: str, *, without: bool = False, upto: int | None = None) -> Any:
    """The ledger of one run alone, up to an event, or all of the others."""
    return {
        **ledger,
        "runs": [one for one in ledger["runs"] if (one["runId"] == run_id) != without],
        "events": [
            line
            for line in ledger["events"]
            if (line[3]["runId"] == run_id) != without and (upto is None or line[1] <= upto)
        ],
    }


def test_every_spawn_finds_its_child_again_and_the_deleted_one_never(ledger, claims):
    replay(ledger)
    for told in claims["spawns"]:
        spawn, made = claimed(told)
        assert made
        assert spawn.child_session_id == told["child_session_id"]
    for told in claims["spawns"]:
        proposal = {**told, "child_session_id": "another", "initial_run_id": "another"}
        spawn, made = claimed(proposal)
        assert (made, spawn.child_session_id) == (False, told["child_session_id"])
    assert not Session.objects.filter(id="another").exists()
    for gone in claims["tombstones"]:
        session = Session.objects.get(id=gone["session_id"])
        delete_session(session=session, actor=SYSTEM, reason="as it was there")
    deleted = set(Tombstone.objects.values_list("session_id", flat=True))
    for told in claims["spawns"]:
        if told["child_session_id"] in deleted:
            with pytest.raises(Conflict) as refused:
                claimed(told)
            assert refused.value.code == "deleted_session"
    parent = find_session(claims["spawns"][0]["parent_session_id"])
    family = family_of(parent)
    expected = {
        told["child_session_id"]
        for told in claims["spawns"]
        if told["parent_session_id"] == parent.id and told["child_session_id"] not in deleted
    }
    assert {child.id for child in family.children} == expected
    linked = ToolCall.objects.filter(session=parent).exclude(child=None).select_related("child")
    first = claims["spawns"][0]
    assert {call.call_id: call.child.id for call in linked if call.child}[first["tool_call_id"]] == (
        first["child_session_id"]
    )
    assert SubagentSpawn.objects.count() == 5


def claimed(told: dict[str, Any]) -> tuple[SubagentSpawn, bool]:
    names = Place.__dataclass_fields__
    return claim_spawn(
        place=Place(**{name: told[name] for name in names}),
        fingerprint=told["request_fingerprint"],
        proposal=Proposal(
            **{name: told[name] for name in ("child_session_id", "initial_turn_id", "initial_run_id")}
        ),
        actor=SYSTEM,
    )


def test_the_continuations_are_acquired_with_their_clients_own_digests(ledger, claims):
    begun, pending = claims["claims"]
    replay(part(ledger, begun["target_run_id"], without=True))
    for told in (begun, pending):
        claim, acquired = claim_continuation(wanted=wanted(told), actor=SYSTEM)
        assert (acquired, claim.prefix_checked) == (True, True)
        assert (claim.boundary_digest, claim.boundary_json) == (
            told["boundary_digest"],
            told["boundary_json"],
        )
        again, acquired = claim_continuation(wanted=wanted(told), actor=SYSTEM)
        assert (acquired, again.pk) == (False, claim.pk)
    target = part(ledger, begun["target_run_id"])
    with pytest.raises(Conflict) as refused:
        replay({**target, "events": target["events"][1:]})
    assert refused.value.code == "start_reserved"
    claim = ContinuationClaim.objects.get(claim_id=begun["claim_id"])
    first = read(target["events"][0][3])
    started, created = start_continuation(claim=claim, sent=first, actor=SYSTEM)
    assert created
    assert (started.start_event_id, started.start_kind) == (begun["start_event_id"], begun["start_kind"])
    replay(target)
    run = Run.objects.get(run_id=begun["target_run_id"])
    assert run.last_seq == len(target["events"])
    found = claim_page(pending=True, session=None, limit=10, cursor=None)
    assert [one.claim_id for one in found.items] == [pending["claim_id"]]


def wanted(told: dict[str, Any]) -> Wanted:
    sides = {
        side: Identity(*(told[f"{side}_{name}_id"] for name in ("session", "invocation", "run", "turn")))
        for side in ("source", "target")
    }
    return Wanted(
        claim_id=told["claim_id"],
        source=sides["source"],
        high_water=told["source_event_high_water"],
        prefix=told["source_prefix_digest"],
        target=sides["target"],
        boundary=json.loads(told["boundary_json"]),
        boundary_digest=told["boundary_digest"],
        provider_replay_digest=told["provider_replay_digest"],
        target_run_header=json.loads(told["target_run_header_json"]),
    )


def test_streams_are_written_at_their_place_and_outlive_a_stopped_run(ledger, claims):
    seqs = {line[3]["id"]: line[1] for line in ledger["events"]}
    texts = {
        key: "".join(one["text_content"] for one in found)
        for key, found in groupby(claims["segments"], key=lambda one: one["stream_key"])
    }
    sealed: set[bool] = set()
    for run_id, found in groupby(sorted(claims["partials"], key=run_of), key=run_of):
        streams = list(found)
        (anchor,) = {seqs[one["after_event_id"]] for one in streams}
        replay(part(ledger, run_id, upto=anchor))
        for one in streams:
            envelope = json.loads(one["payload_json"])
            assert stream_key(envelope) == one["stream_key"]
            write_partial(key=one["stream_key"], pieces=pieces(envelope, told_text(one, texts)), actor=SYSTEM)
        replay(part(ledger, run_id))
        run = Run.objects.get(run_id=run_id)
        read_again = {one.stream_key: one for one in partials_of(run)}
        assert set(read_again) == {one["stream_key"] for one in streams}
        for one in streams:
            kept = read_again[one["stream_key"]]
            assert (kept.text, kept.after_seq) == (told_text(one, texts), anchor)
        sealed.add(run.sealed)
    assert sealed == {True, False}


def run_of(stream: dict[str, Any]) -> str:
    return str(stream["run_id"])


def told_text(stream: dict[str, Any], texts: dict[str, str]) -> str:
    return str(stream["text_content"]) + texts.get(stream["stream_key"], "")


def pieces(envelope: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """The stream in pieces of seven characters, as a model might send it."""
    if "content" not in envelope:
        return [envelope]
    cut = [text[place : place + 7] for place in range(0, len(text), 7)] or [""]
    return [{**envelope, "content": {**envelope["content"], "text": one}} for one in cut]


def test_epochs_versions_heads_capabilities_labels_and_create_claims(claims):
    versions = {one["workspace_version_id"]: one for one in claims["versions"]}
    for told in claims["epochs"]:
        version = versions[told["initial_workspace_version_id"]]
        values = {**version, **told, "opened_event_id": told["epoch_opened_event_id"]}
        opened = Opened(**{name: values[name] for name in Opened.__dataclass_fields__})
        assert open_epoch(opened=opened, actor=SYSTEM)[1]
        assert not open_epoch(opened=opened, actor=SYSTEM)[1]
        with pytest.raises(Conflict):
            open_epoch(opened=Opened(**{**_fields(opened), "changed_file_count": 99}), actor=SYSTEM)
    for told in claims["heads"]:
        head = epoch(told["workspace_epoch_id"]).head
        assert (head.version.workspace_version_id, head.version.commit_oid, head.revision) == (
            *(told["workspace_version_id"], told["commit_oid"], told["revision"]),
        )
    for told in claims["capabilities"]:
        declare_capability(capability=told["capability"], version=told["version"], actor=SYSTEM)
    assert [(one.capability, one.version) for one in capabilities()] == sorted(
        (told["capability"], told["version"]) for told in claims["capabilities"]
    )
    for told in claims["create_claims"]:
        given = {"session_id": told["session_id"], "fingerprint": told["request_fingerprint"]}
        assert ensure_session(actor=SYSTEM, **given)[1]
        assert not ensure_session(actor=SYSTEM, **given)[1]
    for session_id, labels in claims["labels"].items():
        session, _ = ensure_session(actor=SYSTEM, session_id=session_id)
        change_session(session=session, values={"labels": labels}, actor=SYSTEM)
        assert labels_of(session) == labels


def _fields(opened: Opened) -> dict[str, Any]:
    return {name: getattr(opened, name) for name in Opened.__dataclass_fields__}
