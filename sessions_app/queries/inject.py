"""What a hook puts before an agent's next turn: the newest messages of its session, compact."""

from contextdash.clock import iso
from contextdash.limits import INJECT_CHARS
from sessions_app.queries.messages import recent_messages

# Agents were taught to recognise this mark, so it keeps the name of the system that made it up.
_MARK = "MEDIATORLITE_PRIOR_CONTEXT"


def injected_context(*, session_id: str, agent: str | None, limit: int) -> str:
    """Markdown between two comments, oldest message first; empty when there is no message."""
    found = recent_messages(session_id=session_id, agent=agent, project=None, limit=limit).items
    if not found:
        return ""
    lines = [f"<!-- {_MARK} -->", f"## Prior agent context (last {limit} messages this session)"]
    for message in found:
        head: str = message.content_head  # type: ignore[attr-defined]  # annotated by recent_messages
        content = head if len(head) <= INJECT_CHARS else head[:INJECT_CHARS] + "…"
        to = f" → {message.target}" if message.target else ""
        # A message cannot end the block that it stands in.
        said = content.replace("<!--", "&lt;!--")
        lines.append(f"- `{iso(message.ts)}` **{message.agent_name}** ({message.role}{to}): {said}")
    return "\n".join([*lines, f"<!-- /{_MARK} -->", ""])
