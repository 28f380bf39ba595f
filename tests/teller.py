"""What tests/seed.py tells its stories with: hostile texts, and sessions built as hooks would build them."""

import json
import zlib
from dataclasses import dataclass
from itertools import count
from typing import Any

from contextdash import clock, ids
from contextdash.actor import SYSTEM
from sessions_app.models import Event, Run, Session, SessionEvent, ToolCall, Turn
from sessions_app.services.sessions import create_session

HOSTILE = """<b>bold</b><img src="x" onerror="alert('testing')"><script>alert(1)</script>"""
LINK = "[x](javascript:alert(1)) and ![pixel](https://evil.example/pixel.png)"
ANSI = (
    "\x1b[31mFAIL\x1b[0m tests/refunds/test_replay.py::test_shuffled\n\x1b[38;2;1;2;3mx\x1b[0m "
    + "".join(f"\rDownloading {n}%" for n in range(500))
    + "\r\x1b[KDownloaded\n\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07\n\x1b[2J"
    "\x1b[1;32m214 passed\x1b[0m, \x1b[33m3 warnings\x1b[0m\n"
)
RTL = "إصلاح ترتيب إعادة المحاولة في واجهة الدفع ثم ‮txt.exe"
LONG = "Move every settlement, refund and chargeback into one table " * 6
LONG_AGENT = "very-long-agent-name-" * 9 + "end"
DIFF = """diff --git a/api/webhooks/views.py b/api/webhooks/views.py
--- a/api/webhooks/views.py
+++ b/api/webhooks/views.py
@@ -86,4 +86,4 @@ def receive(request)
     body = request.body
     want = sign(body, settings.WEBHOOK_SECRET)
-    if request.headers["X-Signature"] == want:
+    if hmac.compare_digest(request.headers.get("X-Signature", ""), want):
         return accept(body)
"""
PLAN = """# Refunds are safe to retry

1. [x] Unique index on the idempotency key
2. [ ] Replay test with shuffled deliveries

| step | owner | days |
|---|---|---:|
| index | backend-developer | 1 |
| replay | tester | 2 |

```python
def refund(key: str) -> Refund:
    return Refund.objects.get_or_create(key=key)[0]
```
"""

_events = count(1)


@dataclass(slots=True)
class Teller:
    """Tells one session's story: each step takes its time and leaves the rows that hooks would leave."""

    session: Session
    at_us: int
    ordinal: int = 0
    turn: Turn | None = None
    run: Run | None = None
    seq: int = 0

    def event(self, name: str, kind: str, body: dict[str, Any]) -> Event:
        self.ordinal += 1
        self.seq += 1
        raw = json.dumps({"hook_event_name": name, "session_id": self.session.id, **body}).encode()
        return Event.objects.create(
            session=self.session,
            run=self.run,
            seq=self.seq if self.run else None,
            ordinal=self.ordinal,
            source="hook",
            client=self.session.client,
            name=name,
            kind=kind,
            identity=ids.digest16(b"seed", str(next(_events)).encode()),
            content=ids.digest16(raw),
            occurred_us=self.at_us,
            received_us=self.at_us,
            payload=zlib.compress(raw, 1),
            payload_size=len(raw),
        )

    def prompt(self, text: str) -> None:
        if self.run is not None and self.run.status == "running":
            self.answer("", finished=False)
        number = (self.turn.number if self.turn else 0) + 1
        state = self.session.states.get(version=0)
        self.turn = Turn.objects.create(
            session=self.session,
            state=state,
            number=number,
            turn_id=f"{self.session.id}-{number}",
            prompt=text,
            started_us=self.at_us,
        )
        self.run = Run.objects.create(
            session=self.session,
            turn=self.turn,
            invocation_id=f"{self.session.id}-{number}-1",
            started_us=self.at_us,
        )
        self.seq = 0
        self.event("UserPromptSubmit", "prompt", {"prompt": text})
        self.at_us += 2_000_000

    def call(
        self, name: str, given: dict[str, Any], output: str = "", *, seconds: float = 1.0, error: str = ""
    ) -> ToolCall:
        call_id = f"toolu_{next(_events)}"
        body = {"tool_name": name, "tool_input": given, "tool_use_id": call_id}
        summary = str(next(iter(given.values()), "")).replace("\n", " ")[:200]
        started = self.event("PreToolUse", "tool_start", body)
        call = ToolCall(
            session=self.session,
            run=self.run,
            call_id=call_id,
            name=name,
            summary=summary,
            call_event=started,
            started_us=self.at_us,
            input_size=len(json.dumps(given)),
        )
        if output or error:
            self.at_us += int(seconds * 1_000_000)
            ended = "PostToolUseFailure" if error else "PostToolUse"
            result = {**body, "error": error} if error else {**body, "tool_response": {"stdout": output}}
            call.result_event = self.event(ended, "tool_failed" if error else "tool_end", result)
            call.state = "failed" if error else "done"
            call.error = error.split("\n")[0][:300]
            call.ended_us = self.at_us
            call.duration_us = int(seconds * 1_000_000)
            call.output_size = len(output or error)
        else:
            self.session.current_call = f"{name} {summary}"[:300]
        call.save()
        return call

    def answer(self, text: str, *, finished: bool = True) -> None:
        if self.run is None or self.turn is None:
            return
        self.run.status = "completed" if finished else "interrupted"
        self.run.answer = text
        self.run.ended_us = self.turn.ended_us = self.at_us
        self.run.save()
        self.turn.save()
        self.event("Stop", "turn_end", {"last_assistant_message": text})

    def note(self, kind: str, text: str, priority: int = 3) -> None:
        SessionEvent.objects.create(
            session=self.session, type=kind, data=text, priority=priority, occurred_us=self.at_us
        )
        self.at_us += 500_000

    def end(self, **values: Any) -> Session:
        """Write the counters and the state that a list shows."""
        session = self.session
        calls = list(session.calls.select_related("run"))
        for turn in session.turns.all():
            own = [call for call in calls if call.run and call.run.turn_id == turn.key]
            turn.call_count, turn.failed_count = len(own), sum(call.state == "failed" for call in own)
            turn.save(update_fields=["call_count", "failed_count"])
        values = {
            "ordinal": self.ordinal,
            "event_count": self.ordinal,
            "last_us": self.at_us,
            "turn_count": session.turns.count(),
            "call_count": len(calls),
            "failed_count": sum(call.state == "failed" for call in calls),
            "current_call": session.current_call,
            "child_count": session.children.count(),
            "activity_since_us": self.at_us,
            **values,
        }
        Session.objects.filter(key=session.key).update(**values)
        session.refresh_from_db()
        return session


def started(session_id: str, minutes_ago: float, **values: Any) -> Teller:
    at_us = clock.now_us() - int(minutes_ago * 60_000_000)
    session = create_session(session_id=session_id, actor=SYSTEM, **values)
    session.started_us = session.last_us = at_us
    session.started_at = clock.from_us(at_us)
    session.client = session.client or "claude-code"
    session.model = session.model or "claude-opus-4-8"
    session.host, session.branch = "build-box", "refunds/idempotent"
    session.workspace = "/srv/ledgerline"
    session.save()
    return Teller(session, at_us)
