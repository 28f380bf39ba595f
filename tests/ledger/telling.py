"""Events as a ledger's writer sends them, for runs of these tests."""

from typing import Any

from contextdash import clock
from contextdash.actor import SYSTEM
from sessions_app.ledger.canonical import args_hash
from sessions_app.ledger.envelope import read
from sessions_app.models import Run
from sessions_app.services.ledger import open_run, open_turn
from sessions_app.services.ledger_append import PLAIN, Appended, append_events

AT_MS = 1_780_000_000_000


def run(session_id: str = "s-1", turn_id: str = "turn-1", **told: Any) -> Run:
    turn, _ = open_turn(session_id=session_id, turn_id=turn_id, actor=SYSTEM)
    made, _ = open_run(turn=turn, actor=SYSTEM, **told)
    return Run.objects.select_related("session", "turn").get(key=made.key)


class Teller:
    """Makes the events of one run; each has a later time than the one before."""

    def __init__(self, of: Run) -> None:
        self.run = of
        self.at_ms = AT_MS

    def event(self, event_id: str, **told: Any) -> dict[str, Any]:
        self.at_ms += 1000
        return {
            "id": event_id,
            "invocationId": self.run.invocation_id,
            "runId": self.run.run_id,
            "sessionId": self.run.session.id,
            "turnId": self.run.turn.turn_id,
            "ts": self.at_ms,
            "partial": False,
            "role": "system",
            "author": "system",
            **told,
        }

    def said(self, event_id: str, text: str, role: str = "model") -> dict[str, Any]:
        author = "agent" if role == "model" else "user"
        return self.event(event_id, role=role, author=author, content={"kind": "text", "text": text})

    def call(self, call_id: str, name: str = "Read", args: Any = None, **refs: str) -> dict[str, Any]:
        content = {"kind": "function_call", "id": call_id, "name": name, "args": args or {"path": "a"}}
        return self.event(
            f"{call_id}_call",
            role="model",
            author="agent",
            content=content,
            refs={"toolCallId": call_id, **refs},
        )

    def response(
        self, call_id: str, name: str = "Read", result: Any = "done", *, is_error: bool = False, **refs: str
    ) -> dict[str, Any]:
        content = {"kind": "function_response", "id": call_id, "name": name, "result": result}
        if is_error:
            content["isError"] = True
        return self.event(
            f"{call_id}_response",
            role="tool",
            author="tool",
            content=content,
            refs={"toolCallId": call_id, **refs},
        )

    def dispatch(self, call_id: str, name: str = "Read", args: Any = None, **told: str) -> dict[str, Any]:
        fact = {
            "canonicalArgsHash": args_hash(name, args or {"path": "a"}),
            "operationId": f"op-{call_id}",
            "protocol": "t1_after_preflight_v1",
            "providerToolCallId": call_id,
            "recoveryMode": "never_auto_retry",
            "toolName": name,
            **told,
        }
        return self.event(f"{fact['operationId']}_dispatch", actions={"toolDispatch": fact})

    def reconcile(self, call_id: str, observation: str) -> dict[str, Any]:
        payload = {
            "observation": observation,
            "operationId": f"op-{call_id}",
            "protocol": "tool_reconcile_v1",
        }
        fact = {"kind": "maka.tool.reconcile_result", "payload": payload, "version": 1}
        return self.event(f"{call_id}_reconcile", actions={"toolRecovery": fact})

    def decision(self, call_id: str, observation: str, **told: Any) -> dict[str, Any]:
        done = observation == "matches_expected_state"
        evidence = [f"{call_id}_call", f"op-{call_id}_dispatch", f"{call_id}_reconcile"]
        payload: dict[str, Any] = {
            "disposition": "completed" if done else "parked",
            "evidenceEventIds": [*evidence, *([f"{call_id}_response"] if done else [])],
            "operationId": f"op-{call_id}",
            "protocol": "tool_recovery_v1",
            "reasonCode": f"reconcile_{observation}",
            **({"outcomeEventId": f"{call_id}_response"} if done else {}),
            **told,
        }
        fact = {"kind": "maka.tool.recovery_decision", "payload": payload, "version": 1}
        return self.event(f"{call_id}_decision", actions={"toolRecovery": fact})

    def end(self, event_id: str = "end", status: str = "completed", **delta: str) -> dict[str, Any]:
        return self.event(event_id, status=status, actions={"endInvocation": True, "stateDelta": delta})


def append(of: Run, *events: dict[str, Any], writers: Any = PLAIN, **told: Any) -> list[Appended]:
    read_events = [read(event, f"events.{number}") for number, event in enumerate(events)]
    return list(append_events(run=of, events=read_events, actor=SYSTEM, writers=writers, **told))


def now_ms() -> int:
    return clock.now_us() // 1000
