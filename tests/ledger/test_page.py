"""A ledger's calls on the session's page: what went in, what came out, and what nobody knows."""

import pytest

from contextdash.actor import SYSTEM
from sessions_app.models import Session, ToolCall, TouchedFile
from sessions_app.services.iterations import write_iteration
from sessions_app.services.ledger_append import TOOLS
from tests.ledger.telling import Teller, append, now_ms, run

pytestmark = pytest.mark.django_db


def opened(page, call_id: str) -> str:
    call = ToolCall.objects.select_related("session").get(call_id=call_id)
    return page.get(f"/sessions/{call.session.id}/calls/{call.key}/").content.decode()


def test_a_call_shows_what_its_ledger_told(page):
    of = run()
    tell = Teller(of)
    printed = {"kind": "terminal", "output": {"stdout": "12 passed", "stderr": ""}}
    append(
        of,
        tell.call("c1", name="Bash", args={"command": "make test"}),
        tell.response("c1", name="Bash", result=printed),
        tell.call("c2", args={"path": "/src/pool.py"}),
        tell.response("c2", result={"kind": "text", "text": "permission denied"}, is_error=True),
    )
    first = opened(page, "c1")
    assert "12 passed" in first
    assert "Command" in first
    second = opened(page, "c2")
    assert "permission denied" in second
    assert ToolCall.objects.get(call_id="c2").error == "permission denied"
    assert TouchedFile.objects.get().path == "/src/pool.py"


def test_a_call_of_unknown_end_says_so(page):
    of = run()
    tell = Teller(of)
    tell.at_ms = now_ms()
    append(of, tell.call("c1"), tell.dispatch("c1", canonicalArgsHash="sha256:" + "0" * 64), writers=TOOLS)
    assert "nobody knows" not in opened(page, "c1")
    append(of, tell.end(status="failed", failureClass="app_restarted"))
    told = opened(page, "c1")
    assert "nobody knows whether it was done" in told
    assert "not theirs" in told
    assert page.get(f"/sessions/{Session.objects.get().id}/").status_code == 200


def test_the_transcript_tells_what_only_the_ledger_told(page):
    of = run()
    tell = Teller(of)
    thought = {"kind": "thinking", "text": "Nothing else calls this helper."}
    steering = {"kind": "text", "text": "Keep the old flag.", "steering": True}
    append(
        of,
        tell.said("e1", "Make it configurable.", role="user"),
        tell.event("e2", role="model", author="agent", content=thought),
        tell.said("e3", "I will read it <b>first</b>."),
        tell.event("e4", role="user", author="user", content=steering),
        tell.call("c1"),
        tell.response("c1"),
        tell.said("e5", "Done."),
    )
    address = f"/sessions/{of.session.id}/transcript/"
    told = page.get(address).content.decode()
    texts = ["Nothing else calls", "I will read it", "Keep the old flag.", ">Done."]
    places = [told.rindex(text) for text in texts]
    assert places == sorted(places)
    assert "<b>first</b>" not in told
    assert told.count(">Done.") == 1
    # A model call that has the texts tells them instead.
    write_iteration(run=of, values={"prose": "Done, told by the call."}, actor=SYSTEM)
    told = page.get(address).content.decode()
    assert "told by the call" in told
    assert "Nothing else calls" not in told
