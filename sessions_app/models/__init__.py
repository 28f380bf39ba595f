from sessions_app.models.event import Event, Purge, SessionEvent
from sessions_app.models.hook import HookBucket, HookEvent, Quarantined, SpoolReport
from sessions_app.models.memory import AgentMessage, Decision, Mistake, Plan
from sessions_app.models.place import Project, Workspace
from sessions_app.models.seen import SeenMark
from sessions_app.models.session import Session, SessionState, Tombstone
from sessions_app.models.tool import ToolCall
from sessions_app.models.turn import Run, Turn
from sessions_app.models.usage import ImportSource, Iteration, PriceOverride, UsageBucket

__all__ = [
    "AgentMessage",
    "Decision",
    "Event",
    "HookBucket",
    "HookEvent",
    "ImportSource",
    "Iteration",
    "Mistake",
    "Plan",
    "PriceOverride",
    "Project",
    "Purge",
    "Quarantined",
    "Run",
    "SeenMark",
    "Session",
    "SessionEvent",
    "SessionState",
    "SpoolReport",
    "Tombstone",
    "ToolCall",
    "Turn",
    "UsageBucket",
    "Workspace",
]
