"""A client that nobody knows: its events are stored and shown as sent, and what is plain is understood.

Names of events are taken at their word where they are Claude Code's, in whatever spelling, because most
clients copied them.
"""

from sessions_app.ingest import claude_code
from sessions_app.ingest.observation import Observation
from sessions_app.ingest.reading import Body, Ids, text

_ALIKE = {name.lower(): name for name in claude_code.EVENTS}


def event_name(body: Body) -> str:
    for key in ("hook_event_name", "hookEventName", "event_name", "event_type", "event", "type"):
        if name := text(body, key):
            return name
    return ""


def ids(body: Body) -> Ids:
    found = claude_code.ids(body)
    return found if found.session else found._replace(session=text(body, "sessionId"))


def own_id(body: Body, name: str) -> str:
    alike = _alike(name)
    return (claude_code.own_id(body, alike) if alike else "") or text(body, "event_id")


def read(seen: Observation, body: Body) -> None:
    sent = seen.name
    seen.name = _alike(sent) or sent
    claude_code.read(seen, body)
    seen.name = sent


def _alike(name: str) -> str | None:
    return _ALIKE.get(name.replace("_", "").replace("-", "").lower())
