"""A whole workspace of a ledger client, replayed through the services: the same ledger comes out."""

import gzip
import json
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from contextdash.actor import SYSTEM
from sessions_app.ledger.digests import Identity, prefix_digest
from sessions_app.ledger.envelope import Lane, read
from sessions_app.models import Event, Run, Session, ToolCall, ToolJournalEntry, ToolOperation
from sessions_app.queries.sessions_api import payload_value
from sessions_app.services.ledger import open_run, open_turn
from sessions_app.services.ledger_append import append_events

pytestmark = pytest.mark.django_db

ALL = frozenset({Lane.DISPATCH, Lane.RECOVERY, Lane.CONTINUATION, Lane.WORKSPACE})
STATUS = {
    "completed": "completed",
    "failed": "failed",
    "cancelled": "interrupted",
    "running": "running",
    "waiting_for_user": "running",
    None: "running",
}


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    path = Path(__file__).parent.parent / "data" / "ledger" / "replay.json.gz"
    return json.loads(gzip.decompress(path.read_bytes()))


def replay(told: dict[str, Any]) -> dict[str, Run]:
    runs = {}
    for one in told["runs"]:
        started_us = one["createdAt"] * 1000
        turn, _ = open_turn(
            session_id=one["sessionId"], turn_id=one["turnId"], actor=SYSTEM, started_us=started_us
        )
        run, _ = open_run(
            turn=turn,
            run_id=one["runId"],
            invocation_id=one["invocationId"],
            started_us=started_us,
            actor=SYSTEM,
        )
        runs[one["runId"]] = Run.objects.select_related("session", "turn").get(key=run.key)
    for run_id, events in groupby((event for _, _, _, event in told["events"]), key=lambda one: one["runId"]):
        run = runs[run_id]
        append_events(run=run, events=[read(one) for one in events], actor=SYSTEM, writers=ALL)
    return runs


def test_the_ledger_of_a_workspace_comes_out_as_it_went_in(told):
    runs = replay(told)
    manifest = told["manifest"]
    assert Event.objects.count() == manifest["counts"]["runtime_events"]
    assert Counter(Event.objects.values_list("name", flat=True)) == manifest["event_kinds"]
    stored = {payload_value(row.payload)["id"]: row for row in Event.objects.select_related("run", "session")}
    for kind, seq, _, event in told["events"]:
        row = stored[event["id"]]
        assert (row.name, row.seq) == (kind, seq)
        assert (row.run.run_id, row.session.id) == (event["runId"], event["sessionId"])
        assert payload_value(row.payload) == event
    in_order: dict[str, list[str]] = {}
    for _, _, _, event in sorted(told["events"], key=lambda one: one[2]):
        in_order.setdefault(event["sessionId"], []).append(event["id"])
    for session, ids in in_order.items():
        rows = Event.objects.filter(session__id=session).order_by("ordinal")
        assert [payload_value(row.payload)["id"] for row in rows] == ids
    for one in told["runs"]:
        run = Run.objects.get(key=runs[one["runId"]].key)
        assert run.last_seq == manifest["max_event_seq"].get(one["runId"], run.last_seq)
        if one["status"] in ("completed", "failed", "cancelled"):
            assert (run.status, run.sealed) == (STATUS[one["status"]], True)
        else:
            assert not run.sealed
        assert (run.failure_class, run.abort_source) == (one["failureClass"] or "", one["abortSource"] or "")

    assert Counter(ToolOperation.objects.values_list("state", flat=True)) == manifest["tool_states"]
    for one in told["operations"]:
        row = ToolOperation.objects.select_related("run", "call").get(operation_id=one["operation_id"])
        assert (row.state, row.version, row.recovery_mode) == (
            one["current_state"],
            one["version"],
            one["recovery_mode"],
        )
        assert (row.call_event, row.dispatch_event, row.result_event or None) == (
            one["call_event_id"],
            one["dispatch_event_id"],
            one["result_event_id"],
        )
        assert (row.run.run_id, row.call.name, row.call.call_id) == (
            one["run_id"],
            one["tool_name"],
            one["provider_tool_call_id"],
        )
        assert (row.args_hash, row.args_hash_ok) == (one["canonical_args_hash"], True)
    unsettled = ToolOperation.objects.filter(state="prepared").order_by("run__invocation_id", "operation_id")
    assert sorted(row.operation_id for row in unsettled) == sorted(manifest["unsettled_operations"])
    journal = [
        (row.operation.operation_id, row.state, row.event, row.fact)
        for row in ToolJournalEntry.objects.select_related("operation").order_by("key")
    ]
    wanted = [
        (
            one["operation_id"],
            one["state"],
            one["runtime_event_id"],
            json.loads(one["metadata_json"]) if one["metadata_json"] else None,
        )
        for one in told["journal"]
    ]
    assert sorted(journal, key=str) == sorted(wanted, key=str)
    assert ToolCall.objects.count() == manifest["event_kinds"]["function_call"]
    assert sum(Session.objects.values_list("call_count", flat=True)) == ToolCall.objects.count()


def test_the_digest_of_a_prefix_is_the_one_that_its_client_computed(told):
    for claim in told["claims"]:
        run = next(one for one in told["runs"] if one["runId"] == claim["source_run_id"])
        identity = Identity(run["sessionId"], run["invocationId"], run["runId"], run["turnId"])
        events = [
            (seq, read(event).text) for _, seq, _, event in told["events"] if event["runId"] == run["runId"]
        ][: claim["source_event_high_water"]]
        assert prefix_digest(identity, events) == claim["source_prefix_digest"]
