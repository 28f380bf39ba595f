"""Messages between agents: written, acknowledged, corrected."""

from collections.abc import Mapping
from datetime import datetime

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Invalid
from contextdash.fields import optional_word, text, word
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import AgentMessage
from sessions_app.services.belonging import moment
from sessions_app.services.sessions import named_session, touch


@write
def write_message(
    *,
    session_id: str,
    agent_name: str,
    role: str,
    content: str,
    actor: Actor,
    target: str | None = None,
    at: datetime | None = None,
) -> AgentMessage:
    """Store a message; a session that nobody knows is made as that id.

    Raises:
        Invalid: a field is missing or above its limit.
        Conflict: the session was deleted.
    """
    agent = word(agent_name, "agent_name")
    message = AgentMessage(
        agent_name=agent,
        role=word(role, "role"),
        target=optional_word(target, "target"),
        content=text(content, "content", required=False),
        ts=moment(at),
    )
    message.session = named_session(session_id=session_id, actor=actor)
    message.save()
    touch(message.session, message_count=1)
    return message


@write
def change_message(
    *,
    message: AgentMessage,
    values: Mapping[str, object],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> AgentMessage:
    """Set role or target, or ``acknowledged`` to true or false. What was said stays as it was said.

    Raises:
        Invalid: another field is named, or a value is not acceptable.
        Stale: somebody changed it in the meantime.
    """
    checked: dict[str, object] = {}
    for name, value in values.items():
        told = None if value is None else str(value)
        if name == "role":
            checked[name] = word(told, name)
        elif name == "target":
            checked[name] = optional_word(told, name)
        elif name == "acknowledged":
            checked |= _acknowledgement(message, bool(value), actor)
        else:
            raise Invalid(f"{name} of a message cannot be changed.", field=name)
    before = message.version
    change_row(message, values=checked, actor=actor, reason=reason, expected_version=expected_version)
    if message.version != before:
        touch(message.session)
    return message


def acknowledge(*, message: AgentMessage, actor: Actor, reason: str = "") -> AgentMessage:
    """Somebody has taken note of a hand-off; a second time keeps the first."""
    return change_message(message=message, values={"acknowledged": True}, actor=actor, reason=reason)


def _acknowledgement(message: AgentMessage, wanted: bool, actor: Actor) -> dict[str, object]:
    if wanted == (message.acknowledged_at is not None):
        return {}
    return {
        "acknowledged_at": clock.now() if wanted else None,
        "acknowledged_by": actor.user if wanted else None,
    }
