"""What hook scripts and the gate report of themselves."""

from datetime import datetime

from contextdash.actor import Actor
from contextdash.fields import optional_text, word
from contextdash.writer import write
from sessions_app.models import HookEvent
from sessions_app.services.belonging import moment
from sessions_app.services.sessions import named_session, touch


@write
def log_hook_event(
    *,
    hook_name: str,
    event_type: str,
    outcome: str,
    actor: Actor,
    session_id: str | None = None,
    duration_ms: int = 0,
    payload_json: str | None = None,
    at: datetime | None = None,
) -> HookEvent:
    """Store one report. A blank session id is none; one that nobody knows is made as that id.

    Raises:
        Invalid: a field is missing or above its limit.
        Conflict: the session was deleted.
    """
    event = HookEvent(
        hook_name=word(hook_name, "hook_name"),
        event_type=word(event_type, "event_type"),
        outcome=word(outcome, "outcome", chars=40),
        duration_ms=duration_ms,
        payload_json=optional_text(payload_json, "payload_json"),
        ts=moment(at),
    )
    if session_id is not None and session_id.strip():
        event.session = named_session(session_id=session_id, actor=actor)
    event.save()
    if event.session is not None:
        touch(event.session, hook_count=1)
    return event
