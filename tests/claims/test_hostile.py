"""Whatever stands in a body of these endpoints: it is stored or refused, and nothing breaks."""

import json
from typing import Any

import pytest

from sessions_app.ledger.digests import stream_key
from tests import factories
from tests.claims.test_continuations import body, sealed, start
from tests.claims.test_epochs import EPOCH
from tests.claims.test_partials import piece
from tests.claims.test_spawns import WORK
from tests.ledger.telling import run

pytestmark = pytest.mark.django_db

ODD = [
    *("", " ", "a\0b", "\ud83d", "é" * 300, "x" * 300, "'; --", "../..", "\u202e", "a\nb"),
    *(None, True, 0, -1, 2**31, 2**63, 10**400, 1e308, float("nan"), [], {}, ["\0"], {"\ud83d": "\0"}),
]
"""For any field; sent as JSON, where a lone surrogate is an escape."""


def sent(api: Any, method: str, path: str, told: Any) -> int:
    answer = getattr(api.client, method)(
        f"/api/v1/{path}", json.dumps(told), content_type="application/json", headers=api.headers
    )
    if answer.status_code >= 400:
        assert answer.json()["error"], answer.content
    return int(answer.status_code)


def spoiled(told: dict[str, Any]) -> list[tuple[str, object, dict[str, Any]]]:
    return [(name, odd, {**told, name: odd}) for name in told for odd in ODD]


@pytest.fixture(autouse=True)
def no_traces(api: Any) -> None:
    api.client.raise_request_exception = False


def broken(api: Any, method: str, path: str, told: dict[str, Any]) -> list[object]:
    return [
        (name, odd)
        for name, odd, body in spoiled(told)
        if sent(api, method, path, body) not in range(200, 500)
    ]


def test_spawns_epochs_and_lists_of_sessions(api):
    factories.session("S1")
    assert broken(api, "post", "spawns", WORK) == []
    assert broken(api, "post", "epochs", EPOCH) == []
    seen = {"id": "S1", "metadata_version": 1}
    for path in ("sessions/archive", "sessions/delete"):
        assert broken(api, "post", path, {"sessions": [seen], "reason": "x"}) == []
        for name, odd, one in spoiled(seen):
            assert sent(api, "post", path, {"sessions": [one], "reason": "x"}) < 500, (name, odd)
    for odd in ODD:
        assert sent(api, "put", "capabilities/some", {"version": odd}) < 500
        assert sent(api, "post", "sessions/ensure", {"session_id": "S2", "request_fingerprint": odd}) < 500


def test_labels(api):
    factories.session("S1")
    headers = dict(api.headers)
    for odd in ODD:
        version = str(api.get("sessions/S1").json()["metadata_version"])
        api.headers = {**headers, "If-Match": version}
        for told in (odd, [odd], ["bug", odd, odd]):
            assert sent(api, "patch", "sessions/S1", {"labels": told}) < 500, odd
    assert api.get("sessions/S1").status_code == 200


def test_continuations_and_their_start(api):
    source = sealed()
    told = body(source)
    boundary = api.post("continuations", told).json()["boundary"]
    full = {**body(source, 2), "boundary": boundary, "boundary_digest": "", "provider_replay_digest": ""}
    assert broken(api, "post", "continuations", full) == []
    segment = boundary["segments"][0]
    for name, odd, one in spoiled(segment):
        answer = sent(api, "post", "continuations", {**full, "boundary": {**boundary, "segments": [one]}})
        assert answer < 500, (name, odd)
    event = start(api.get("continuations/claim-1").json())
    for name, odd, one in spoiled(event):
        assert sent(api, "post", "continuations/claim-1/start", {"event": one}) < 500, (name, odd)
    for name, odd, one in spoiled(event["actions"]["continuationStart"]):
        told = {**event, "actions": {"continuationStart": one}}
        assert sent(api, "post", "continuations/claim-1/start", {"event": told}) < 500, (name, odd)


def test_pieces_of_streams(api):
    good = piece(run(), "text")
    path = f"partials/{stream_key(good)}"
    for name, odd, one in spoiled(good):
        assert sent(api, "put", path, {"events": [one]}) < 500, (name, odd)
        key = "0" * 64
        if isinstance(odd, str):
            key = stream_key({**good, name: odd.replace("\0", "\ufffd").replace("\ud83d", "\ufffd")})
        assert sent(api, "put", f"partials/{key or '0'}", {"events": [one]}) < 500, (name, odd)
    for name, odd, one in spoiled({"kind": "text", "text": "more"}):
        assert sent(api, "put", path, {"events": [{**good, "content": one}]}) < 500, (name, odd)
    assert api.get("partials", session="s-1").status_code == 200
