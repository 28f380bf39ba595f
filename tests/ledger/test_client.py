"""A run that an agent keeps with the Python client, against a real server."""

import pytest

from contextdash.client import ApiError, Client
from sessions_app.models import Iteration, Run, ToolCall
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(live_server, monkeypatch, tmp_path) -> Client:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("CONTEXTDASH_URL", live_server.url)
    monkeypatch.setenv("CONTEXTDASH_TOKEN", factories.token("write")[1])
    return Client(session="S1")


def test_a_run_is_kept_by_the_client(client):
    run = client.ledger.open(prompt="Fix it", turn_id="t1", run_id="r1")
    assert client.ledger.open(turn_id="t1", run_id="r1", invocation_id=run.names["invocationId"]).id == run.id
    run.say("Fix it", role="user", author="user")
    call = {"kind": "function_call", "id": "c1", "name": "Read", "args": {"path": "a"}}
    answer = {"kind": "function_response", "id": "c1", "name": "Read", "result": "done"}
    stored = run.append(
        {"role": "model", "author": "agent", "content": call},
        {"role": "tool", "author": "tool", "content": answer},
        expected_seq=1,
    )
    assert [one["seq"] for one in stored["items"]] == [2, 3]
    run.iteration(response_id="m1", model="claude-sonnet-4-5", output_tokens=5)
    assert run.end("failed", failureClass="auth")["sealed"] is True
    with pytest.raises(ApiError) as refused:
        run.say("late")
    assert refused.value.code == "run_sealed"
    assert [one["name"] for one in run.events(after=1)] == ["function_call", "function_response", "failed"]
    assert (Run.objects.get().failure_class, ToolCall.objects.get().state) == ("auth", "done")
    assert Iteration.objects.get().output_tokens == 5
