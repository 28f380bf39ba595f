"""The ledger over the API: turns, runs, events, operations, model calls, and reading them again."""

from typing import Any

import pytest

from contextdash import limits
from sessions_app.models import Event, Iteration, Run, Session, ToolCall, Turn, UsageBucket
from tests.ledger.telling import Teller

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(api) -> Run:
    turn = api.post("sessions/L1/turns", turn_id="t1", prompt="Fix it").json()
    made = api.post(f"turns/{turn['id']}/runs", run_id="r1", invocation_id="i1").json()
    return Run.objects.select_related("session", "turn").get(key=made["id"])


@pytest.fixture
def tell(run) -> Teller:
    return Teller(run)


def append(api: Any, run: Run, *events: Any, **more: Any) -> Any:
    return api.post(f"runs/{run.key}/events", {"events": list(events), **more})


def step(api: Any, run: Run, *events: Any, **more: Any) -> Any:
    return api.post(f"runs/{run.key}/operations", {"events": list(events), **more})


def refused(answer: Any) -> tuple[int, str, str | None]:
    return answer.status_code, answer.json()["error"], answer.json().get("field")


def test_a_turn_and_a_run_are_opened_once_by_their_ids(api):
    first = api.post("sessions/L1/turns", turn_id="t1", prompt="Fix it")
    again = api.post("sessions/L1/turns", turn_id="t1", prompt="Fix it")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert refused(api.post("sessions/L1/turns", turn_id="t1", prompt="Other"))[:2] == (409, "conflict")
    assert Session.objects.get(id="L1").title == "Fix it"

    runs = f"turns/{first.json()['id']}/runs"
    made = api.post(runs, run_id="r1", invocation_id="i1")
    assert made.status_code == 201
    assert api.post(runs, run_id="r1", invocation_id="i1").json() == made.json()
    assert api.post(runs).json()["number"] == 2
    assert refused(api.post(runs, run_id="r1", invocation_id="i9")) == (409, "identity_conflict", "run_id")
    known = refused(api.post(runs, run_id="r9", invocation_id="i1"))
    assert known == (409, "invocation_identity_conflict", "invocation_id")
    other = api.post("sessions/L2/turns", turn_id="t1").json()["id"]
    elsewhere = refused(api.post(f"turns/{other}/runs", run_id="r1", invocation_id="i1"))
    assert elsewhere[1] == "invocation_identity_conflict"
    assert api.post(f"turns/{other}/runs", run_id="r1", invocation_id="i2").status_code == 201


def test_the_server_numbers_events_and_takes_each_once(api, run, tell):
    events = [tell.said("e1", "Fix it", role="user"), tell.said("e2", "On it")]
    first = append(api, run, *events)
    assert first.status_code == 201
    assert [(one["seq"], one["created"]) for one in first.json()["items"]] == [(1, True), (2, True)]
    again = append(api, run, *events, tell.said("e3", "Done"))
    assert [(one["seq"], one["created"]) for one in again.json()["items"]] == [
        (1, False),
        (2, False),
        (3, True),
    ]
    exact = append(api, run, *events)
    assert (exact.status_code, exact.json()["last_seq"]) == (200, 3)
    one = api.post(f"runs/{run.key}/events", tell.said("e4", "Alone"))
    assert one.json()["items"] == [{"id": "e4", "seq": 4, "created": True}]
    assert Run.objects.get().answer == "Alone"


def test_what_says_nothing_makes_no_other_event(api, run, tell):
    plain = tell.said("e1", "same")
    padded = {
        **plain,
        "content": {**plain["content"], "displayText": "same", "attachments": [], "quotes": []},
    }
    append(api, run, plain)
    assert append(api, run, padded, {**plain, "ts": float(plain["ts"])}).status_code == 200


def test_the_same_id_with_other_content_names_the_field_and_stores_nothing(api, run, tell):
    known = tell.said("e1", "one")
    append(api, run, known)
    other = {**known, "content": {"kind": "text", "text": "two"}}
    answer = append(api, run, tell.said("e2", "new"), other)
    assert refused(answer) == (409, "duplicate_event_id", "events.1.content.text")
    assert refused(append(api, run, {**known, "branch": "b"}))[2] == "events.0.branch"
    twice = append(api, run, tell.said("e3", "a"), tell.said("e3", "b"))
    assert refused(twice) == (409, "duplicate_event_id", "events.1.content.text")
    assert Event.objects.count() == 1

    turn = api.post("sessions/L2/turns", turn_id="t2").json()
    made = api.post(f"turns/{turn['id']}/runs", run_id="r2", invocation_id="i2").json()
    elsewhere = Run.objects.select_related("session", "turn").get(key=made["id"])
    stolen = Teller(elsewhere).said("e1", "one")
    assert refused(append(api, elsewhere, stolen))[1] == "identity_conflict"


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("invocationId", "i9", "invocation_identity_conflict"),
        ("runId", "r9", "identity_conflict"),
        ("sessionId", "L9", "identity_conflict"),
        ("turnId", "t9", "identity_conflict"),
    ],
)
def test_an_event_is_of_the_run_that_is_addressed(api, run, tell, name, value, code):
    answer = append(api, run, {**tell.said("e1", "x"), name: value})
    assert refused(answer) == (409, code, f"events.0.{name}")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"more": 1}, "events.0.more"),
        ({"ts": None}, "events.0.ts"),
        ({"content": {"kind": "text", "text": "x", "loud": True}}, "events.0.content.loud"),
        ({"content": {"kind": "hologram"}}, "events.0.content.kind"),
        ({"actions": {"wish": 1}}, "events.0.actions.wish"),
        ({"refs": {"nobody": "x"}}, "events.0.refs.nobody"),
        ({"status": "pondering"}, "events.0.status"),
        ({"id": "a\x00b"}, "events.0.id"),
    ],
)
def test_the_envelope_is_strict(api, run, tell, change, field):
    assert refused(append(api, run, {**tell.said("e1", "x"), **change})) == (422, "invalid", field)
    assert Event.objects.count() == 0


def test_json_that_loses_something_is_refused(api, run):
    address = f"/api/v1/runs/{run.key}/events"
    for raw in ('{"events": [NaN]}', '{"events": ', '{"events": [1e999]}', "[" * 300 + "]" * 300, "7"):
        answer = api.client.post(address, raw, content_type="application/json", headers=api.headers)
        assert answer.status_code in (400, 422), raw
    many = {"events": [{}] * (limits.LEDGER_EVENTS + 1)}
    assert refused(api.post(f"runs/{run.key}/events", many))[:2] == (413, "too_large")
    assert refused(append(api, run, {}, unknown=1))[2] == "unknown"


def test_half_a_character_is_kept_readable(api, run, tell):
    event = tell.call("c1", args={"command": "cut \ud83d"})
    assert append(api, run, event).status_code == 201
    assert append(api, run, event).status_code == 200
    told = api.get(f"runs/{run.key}/events").json()["items"][0]
    assert told["payload"]["content"]["args"]["command"] == "cut \ufffd"
    assert ToolCall.objects.get().summary == "cut \ufffd"


def test_an_expected_seq_that_is_not_met_tells_the_current_one(api, run, tell):
    first = tell.said("e1", "a")
    assert append(api, run, first, expected_seq=0).status_code == 201
    late = append(api, run, tell.said("e2", "b"), expected_seq=0)
    assert refused(late) == (409, "seq_conflict", "expected_seq")
    assert late.json()["current"] == 1
    # A retry has been stored already, so it expects nothing.
    assert append(api, run, first, expected_seq=0).status_code == 200


@pytest.mark.parametrize(
    ("end", "run_status", "kept"),
    [
        ({"status": "completed"}, "completed", {}),
        ({"status": "failed", "failureClass": "auth"}, "failed", {"failure_class": "auth"}),
        ({"status": "failed"}, "failed", {"incomplete": True}),
        ({"status": "aborted", "abortSource": "user_stop"}, "interrupted", {"abort_source": "user_stop"}),
        ({"status": "cancelled"}, "interrupted", {"incomplete": True}),
    ],
)
def test_a_terminal_event_seals_the_run(api, run, tell, end, run_status, kept):
    said, last = tell.said("e1", "working"), tell.end(**end)
    call = tell.call("c1")
    assert append(api, run, said, call, last).json()["sealed"] is True
    assert append(api, run, said, call, last).status_code == 200
    late = append(api, run, tell.said("e9", "late"))
    assert (refused(late)[:2], late.json()["current"]) == ((409, "run_sealed"), 3)
    assert refused(append(api, run, tell.end("end2")))[1] == "run_sealed"
    told = api.get(f"runs/{run.key}").json()
    assert told["status"] == run_status
    assert told | kept == told
    assert ToolCall.objects.get().state == "interrupted"
    answer = api.patch(f"runs/{run.key}", status="running")
    assert refused(answer)[1] == "run_sealed"


def test_nothing_follows_a_terminal_event_within_one_append(api, run, tell):
    answer = append(api, run, tell.end(), tell.said("e2", "late"))
    assert refused(answer) == (409, "run_sealed", "events.1")
    assert Run.objects.get().status == "running"


def test_a_bare_end_seals_without_a_guess(api, run, tell):
    append(api, run, tell.event("end", actions={"endInvocation": True}))
    told = api.get(f"runs/{run.key}").json()
    assert (told["status"], told["sealed"], told["incomplete"]) == ("interrupted", True, True)
    assert Event.objects.get().name == "invocation_end"


def test_a_run_that_hooks_opened_takes_no_ledger_events(api, run):
    turn = Turn.objects.get()
    of_hooks = Run.objects.create(
        session=turn.session, turn=turn, number=7, invocation_id="h", run_id="h", started_us=1
    )
    event = Teller(Run.objects.select_related("session", "turn").get(key=of_hooks.key)).said("e1", "x")
    assert refused(append(api, of_hooks, event))[1] == "run_not_opened"


def test_a_run_is_changed_with_its_version(api, run):
    changed = api.patch(
        f"runs/{run.key}", headers={"If-Match": "1"}, status="failed", error="no disk", failure_class="disk"
    ).json()
    assert (changed["status"], changed["error"], changed["failure_class"]) == ("failed", "no disk", "disk")
    assert (changed["version"], changed["sealed"]) == (2, False)
    assert api.patch(f"runs/{run.key}", headers={"If-Match": "1"}, error="x").status_code == 412
    assert refused(api.patch(f"runs/{run.key}", status="dancing"))[2] == "status"
    # A late word does not set it running again; its terminal event decides.
    late = Teller(Run.objects.select_related("session", "turn").get())
    append(api, run, late.said("e1", "late"))
    assert Run.objects.get().status == "failed"
    append(api, run, late.end())
    assert Run.objects.get().status == "completed"


def test_a_tool_operation_moves_by_steps(api, run, tell):
    call, dispatch = tell.call("c1"), tell.dispatch("c1")
    assert step(api, run, call, dispatch, expected_version=0).status_code == 201
    assert step(api, run, call, dispatch, expected_version=0).status_code == 200
    unsettled = api.get("operations/unsettled").json()["items"]
    assert [one["operation_id"] for one in unsettled] == ["op-c1"]
    response = tell.response("c1", operationId="op-c1")
    stale = step(api, run, response, expected_version=7)
    assert (refused(stale)[1], stale.json()["current"]) == ("version_conflict", 1)
    assert step(api, run, response, expected_version=1).status_code == 201
    found = api.get("operations", session="L1").json()["items"][0]
    assert (found["state"], found["version"], found["args_hash_ok"]) == ("outcome_committed", 2, True)
    whole = api.get(f"operations/{found['id']}").json()
    assert (whole["verdict"], whole["reason"]) == ("completed", "matching_response")
    assert [(one["version"], one["state"]) for one in whole["journal"]] == [
        (1, "prepared"),
        (2, "outcome_committed"),
    ]
    assert api.get("operations/unsettled").json()["items"] == []
    assert api.get("sessions/L1/tool-calls").json()["items"][0]["resolution"]["verdict"] == "completed"


def test_a_bundle_that_is_no_step_is_refused(api, run, tell):
    code = "transition_shape_conflict"
    assert refused(step(api, run, tell.call("c1")))[1] == code
    assert refused(step(api, run, tell.dispatch("c1"), tell.call("c1")))[1] == code
    two = step(api, run, tell.call("c1", operationId="op-c1"), tell.dispatch("c2"))
    assert refused(two)[1] == "identity_conflict"
    assert Event.objects.count() == 0


def test_a_wrong_hash_of_arguments_is_flagged_and_never_refused(api, run, tell):
    told = tell.dispatch("c1", args={"path": "other"})
    assert step(api, run, tell.call("c1"), told).status_code == 201
    assert api.get("operations").json()["items"][0]["args_hash_ok"] is False


def test_a_run_is_read_from_any_place_and_whole(api, run, tell, settings, monkeypatch):
    append(api, run, *[tell.said(f"e{number}", "x" * 50) for number in range(1, 8)])
    first = api.get(f"runs/{run.key}/events", limit=3).json()
    assert ([one["seq"] for one in first["items"]], first["next"]) == ([1, 2, 3], 3)
    rest = api.get(f"runs/{run.key}/events", after=3).json()
    assert ([one["seq"] for one in rest["items"]], rest["next"]) == ([4, 5, 6, 7], None)
    assert len(api.get(f"runs/{run.key}/events", whole=True).json()["items"]) == 7
    held = api.get(f"runs/{run.key}/prefix", to=5).json()
    assert (held["seq"], len(held["items"])) == (5, 5)
    same = api.get(f"runs/{run.key}/prefix", to=5, digest=held["digest"])
    assert same.status_code == 200
    assert refused(api.get(f"runs/{run.key}/prefix", to=6, digest=held["digest"]))[1] == "digest_conflict"
    assert api.get(f"runs/{run.key}/prefix", to=8).status_code == 404
    monkeypatch.setattr("sessions_app.queries.ledger_replay.REPLAY_EVENTS", 3)
    assert refused(api.get(f"runs/{run.key}/events", whole=True))[:2] == (413, "limit_exceeded")
    assert api.get(f"runs/{run.key}/events", whole=True, after=4).status_code == 200


def test_a_prefix_that_holds_a_masked_secret_has_no_digest(api, run, tell):
    append(api, run, tell.said("e1", "use ghp_" + "a1B2" * 9))
    assert refused(api.get(f"runs/{run.key}/prefix"))[1] == "masked_in_prefix"


def test_events_of_a_session_are_filtered_and_dated(api, run, tell):
    late, early = tell.said("e1", "late", role="user"), tell.said("e2", "early")
    early["ts"] = late["ts"] - 5000
    append(api, run, late, early, tell.end())
    address = "sessions/L1/events"
    names = [one["payload"]["id"] for one in api.get(address).json()["items"]]
    assert names == ["e1", "e2", "end"]
    by_time = api.get("sessions/L1/events-by-time", limit=1).json()
    assert by_time["items"][0]["payload"]["id"] == "e2"
    rest = api.get("sessions/L1/events-by-time", cursor=by_time["next"]).json()["items"]
    assert [one["payload"]["id"] for one in rest] == ["e1", "end"]
    for query, ids in (
        ({"kind": "text"}, ["e1", "e2"]),
        ({"kind": "turn_end"}, ["end"]),
        ({"category": "prompt"}, ["e1"]),
        ({"source": "hook"}, []),
        ({"run": run.key, "source": "api"}, ["e1", "e2", "end"]),
    ):
        assert [one["payload"]["id"] for one in api.get(address, **query).json()["items"]] == ids
    assert refused(api.get("sessions/L1/events-by-time", cursor="1.x"))[2] == "cursor"


def test_a_model_call_is_priced_once(api, run):
    told = {
        "response_id": "m1",
        "model": "claude-sonnet-4-5",
        "provider": "anthropic",
        "input_tokens": 1_000_000,
        "output_tokens": 0,
        "prose": "Done",
    }
    first = api.post(f"runs/{run.key}/iterations", told)
    assert (first.status_code, api.post(f"runs/{run.key}/iterations", told).status_code) == (201, 200)
    assert first.json()["cost_micro"] == 6_000_000 or first.json()["cost_micro"] == 3_000_000
    other = api.post(f"runs/{run.key}/iterations", {**told, "output_tokens": 5})
    assert refused(other) == (409, "conflict", "output_tokens")
    given = api.post(f"runs/{run.key}/iterations", {**told, "response_id": "m2", "cost_micro": 7}).json()
    assert given["cost_micro"] == 7
    unknown = api.post(f"runs/{run.key}/iterations", {"model": "nobody-knows", "output_tokens": 1}).json()
    assert unknown["cost_micro"] is None
    session = Session.objects.get(id="L1")
    assert session.cost_micro == first.json()["cost_micro"] + 7
    assert (session.iteration_count, session.unpriced_count) == (3, 1)
    assert sum(UsageBucket.objects.values_list("cost_micro", flat=True)) == session.cost_micro
    assert Iteration.objects.filter(run=run).count() == 3
    assert refused(api.post(f"runs/{run.key}/iterations", {"output_tokens": -1}))[2] == "output_tokens"


@pytest.mark.parametrize(
    ("ts", "told"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1, "1970-01-01T00:00:00.001000Z"),
        (1.5, "1970-01-01T00:00:00.001500Z"),
        (4102444800000, "2100-01-01T00:00:00.000000Z"),
        (253402300799999, "9999-12-31T23:59:59.999000Z"),
        (253402300800000, None),
        (-1, None),
        (10**300, None),
        (1e308, None),
    ],
)
def test_the_time_of_an_event_is_milliseconds_whatever_its_size(api, run, tell, ts, told):
    """A time that no date has is when it came; one to come pins no list."""
    made = append(api, run, {**tell.said("e-1", "x"), "ts": ts})
    assert made.status_code == 201, made.text
    stored = api.get(f"sessions/{run.session.id}/events").json()["items"][0]
    now = stored["received_at"]
    assert stored["occurred_at"] == (told or now)
    assert api.get(f"sessions/{run.session.id}").json()["last_at"] <= now
