"""Texts that are streamed into a run: in any pieces, shown in their place, gone with the final event."""

import itertools
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextdash.actor import SYSTEM
from contextdash.errors import Conflict, Invalid
from sessions_app.ledger.digests import stream_key
from sessions_app.models import PartialSegment, PartialSnapshot, Run
from sessions_app.queries.partials import partials_of
from sessions_app.services import partials
from sessions_app.services.partials import write_partial
from sessions_app.services.purging import purge_session
from tests import factories
from tests.conftest import Api
from tests.ledger.telling import Teller, append, run

pytestmark = pytest.mark.django_db


def piece(of: Run, text: str, provider: str = "step-1", kind: str = "text", **told: object) -> dict:
    made = Teller(of).event(
        "piece", role="model", author="agent", partial=True, refs={"providerEventId": provider}, **told
    )
    return {**made, "content": {"kind": kind, "text": text}}


def write(*pieces: dict) -> PartialSnapshot | None:
    return write_partial(key=stream_key(pieces[0]), pieces=pieces, actor=SYSTEM)


def text_of(of: Run) -> str:
    (found,) = partials_of(of)
    return found.text


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=300),
    cuts=st.lists(st.integers(0, 300), max_size=6),
    batch=st.integers(1, 4),
)
def test_any_cut_into_pieces_and_batches_gives_the_same_text(text, cuts, batch):
    of = run("s-p", "turn-p", invocation_id="inv-p", run_id="run-p")
    PartialSnapshot.objects.all().delete()
    borders = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [piece(of, text[a:b]) for a, b in itertools.pairwise(borders)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partials, "SEGMENT_BYTES", 64)
        for start in range(0, len(pieces), batch):
            write(*pieces[start : start + batch])
    assert text_of(of) == text
    sizes = list(PartialSegment.objects.order_by("number").values_list("size", flat=True))
    assert all(size <= 64 for size in sizes)


def test_a_segment_ends_at_64_kib_and_the_text_goes_on_in_the_next():
    of = run()
    for _ in range(5):
        write(piece(of, "word " * 8000))
    assert text_of(of) == "word " * 40_000
    rows = list(PartialSegment.objects.order_by("number"))
    assert [row.number for row in rows] == [1, 2, 3, 4]
    assert all(row.size <= 64 * 1024 for row in rows)


def test_a_list_holds_the_beginning_of_a_long_stream(api):
    of = run()
    for _ in range(9):
        write(piece(of, "word " * 8000))
    (listed,) = api.get("partials", session="s-1").json()["items"]
    assert listed["size"] == 360_000
    assert 240_000 < len(listed["text"]) <= 256 * 1024
    assert len(api.get(f"partials/{listed['stream_key']}").json()["text"]) == 360_000


def test_a_secret_that_is_cut_in_two_is_masked_as_a_whole():
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    for cut in (2, 10, 25, len(secret) - 1):
        of = run(f"s-{cut}", "t", invocation_id=f"i-{cut}", run_id=f"r-{cut}")
        write(piece(of, f"key {secret[:cut]}"))
        write(piece(of, f"{secret[cut:]} and on"))
        shown = text_of(of)
        assert secret[:8] not in shown
        assert secret[-6:] not in shown
        assert shown.startswith("key [masked: ")
        assert shown.endswith("] and on")


def test_streams_are_read_after_the_event_that_was_last_when_they_began():
    of = run()
    teller = Teller(of)
    write(piece(of, "before all", "step-0"))
    append(of, teller.said("one", "1"), teller.said("two", "2"))
    of = Run.objects.select_related("session", "turn").get(key=of.key)
    write({**piece(of, "later", "step-2", kind="thinking"), "ts": 1_780_000_009_000})
    write({**piece(of, "sooner", "step-1"), "ts": 1_780_000_008_000})
    append(of, teller.said("three", "3"))
    assert [(one.after_seq, one.kind, one.text) for one in partials_of(of)] == [
        (0, "text", "before all"),
        (2, "text", "sooner"),
        (2, "thinking", "later"),
    ]
    assert partials_of(of)[0].envelope["content"] == {"kind": "text", "text": "before all"}


def test_a_replay_shows_events_and_streams_where_they_stand(api):
    of = run()
    write(piece(of, "first of all", "step-0"))
    append(of, Teller(of).said("one", "1"))
    write(piece(of, "in between", "step-1"))
    append(of, Teller(of).said("two", "2"))
    found = api.get(f"runs/{of.key}/replay").json()["items"]
    assert [(line["seq"], line["event"]["content"]["text"]) for line in found] == [
        *((None, "first of all"), (1, "1"), (None, "in between"), (2, "2")),
    ]
    assert found[2]["event"]["partial"] is True
    later = api.get(f"runs/{of.key}/replay", after=1).json()["items"]
    assert [line["seq"] for line in later] == [None, 2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sessions_app.queries.partials.REPLAY_BYTES", 10)
        assert api.get(f"runs/{of.key}/replay").json()["error"] == "limit_exceeded"


def test_the_final_event_ends_its_stream_alone_and_late_pieces_are_dropped():
    of = run()
    write(piece(of, "Hel"))
    write(piece(of, "hm", kind="thinking"))
    final = {**Teller(of).said("final", "Hello."), "refs": {"providerEventId": "step-1"}}
    append(of, final)
    assert [one.kind for one in partials_of(of)] == ["thinking"]
    assert write(piece(of, "lo.")) is None
    assert [one.kind for one in partials_of(of)] == ["thinking"]


def test_the_stream_of_a_tool_ends_with_its_result():
    of = run()
    teller = Teller(of)
    append(of, teller.call("call-1"))
    output = teller.event("out", role="tool", author="tool", partial=True, refs={"toolCallId": "call-1"})
    assert write(output) is not None
    assert [one.kind for one in partials_of(of)] == ["tool"]
    append(of, teller.response("call-1"))
    assert partials_of(of) == []
    assert write(output) is None


def test_a_sealed_run_takes_no_piece_and_what_is_left_of_a_stopped_stream_stays():
    of = run()
    write(piece(of, "half a sen"))
    append(of, Teller(of).end())
    with pytest.raises(Conflict) as refused:
        write(piece(of, "tence"))
    assert refused.value.code == "run_sealed"
    assert text_of(of) == "half a sen"


def test_erasing_what_a_session_holds_takes_its_streams():
    of, other = run(), run("s-2", invocation_id="inv-2")
    write(piece(of, "half a secret"))
    write(piece(other, "of another"))
    purge_session(session=of.session, actor=SYSTEM, reason="asked")
    assert partials_of(of) == []
    assert text_of(other) == "of another"
    assert not PartialSegment.objects.filter(text__contains="secret").exists()


def test_a_corrupt_stream_is_skipped():
    of = run()
    write(piece(of, "fine"))
    write(piece(of, "lost", "step-2"))
    PartialSnapshot.objects.filter(stream_key=stream_key(piece(of, "", "step-2"))).update(envelope="{")
    assert text_of(of) == "fine"


def test_what_is_no_piece_of_the_stream_is_refused(api):
    of = run()
    good = piece(of, "a")
    key = stream_key(good)
    for bad, status in (
        ({**good, "partial": False}, 422),
        ({**good, "refs": {}}, 422),
        ({**good, "refs": {"providerEventId": "other"}}, 422),
        ({**good, "surprise": 1}, 422),
    ):
        answer = put(api, key, [good, bad])
        assert answer.status_code == status, answer.content
        assert answer.json()["field"].startswith("events.1")
    stranger = {**good, "invocationId": "inv-x"}
    assert put(api, stream_key(stranger), [stranger]).json()["error"] == "unknown_run"
    mixed = {**good, "runId": "run-x"}
    assert put(api, stream_key(mixed), [mixed]).json()["error"] == "invocation_identity_conflict"
    assert not PartialSnapshot.objects.exists()


def test_a_stream_is_put_and_read_over_the_api(api):
    of = run()
    key = stream_key(piece(of, ""))
    assert put(api, key, [piece(of, "Hel"), piece(of, "lo")]).json() == {"stored": True}
    assert api.get(f"partials/{key}").json()["text"] == "Hello"
    assert [row["stream_key"] for row in api.get("partials", session="s-1").json()["items"]] == [key]
    append(of, {**Teller(of).said("final", "Hello"), "refs": {"providerEventId": "step-1"}})
    assert api.get(f"partials/{key}").status_code == 404
    late = put(api, key, [piece(of, "!")])
    assert (late.status_code, late.json()) == (200, {"stored": False})


def test_a_stream_ends_at_the_longest_text():
    of = run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partials, "TEXT_BYTES", 1000)
        write(piece(of, "a" * 900))
        with pytest.raises(Invalid, match="TEXT_BYTES"):
            write(piece(of, "a" * 200))
    assert text_of(of) == "a" * 900


def test_a_retry_with_the_same_key_adds_its_pieces_once():
    of = run()
    key = stream_key(piece(of, ""))
    caller = Api(factories.token("write")[1])
    for number, text in enumerate(("Hel", "Hel", "lo")):
        caller.headers["Idempotency-Key"] = f"call-{number // 2}"
        assert put(caller, key, [piece(of, text)]).status_code == 201
    assert text_of(of) == "Hello"
    append(of, {**Teller(of).said("final", "Hello"), "refs": {"providerEventId": "step-1"}})
    assert put(caller, key, [piece(of, "lo")]).json() == {"stored": True}, "it was"
    assert partials_of(of) == []


def put(api, key: str, events: list[dict]):
    return api.client.put(
        f"/api/v1/partials/{key}",
        json.dumps({"events": events}),
        content_type="application/json",
        headers=api.headers,
    )
