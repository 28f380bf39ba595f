"""The runs that examples of docs/api.md go on from."""

from sessions_app.models import Run
from tests.ledger.telling import AT_MS, Teller, append, run


def runs_of_the_examples(session_id: str = "s-2") -> tuple[Run, Run]:
    """One that has ended, and one that goes on; ids, times and so digests are always the same."""
    done = run(session_id, "turn-1", run_id="run-1", invocation_id="inv-1")
    teller = Teller(done)
    append(done, teller.said("event-1", "Half of it is done."), teller.end("event-2", abortSource="user"))
    going = run(session_id, "turn-2", run_id="run-2", invocation_id="inv-2")
    return done, going


def piece(of: Run, text: str) -> dict[str, object]:
    return {
        **Teller(of).event("piece-1", partial=True, role="model", author="agent"),
        "ts": AT_MS,
        "content": {"kind": "text", "text": text},
        "refs": {"providerEventId": "step-1"},
    }
