from sessions_app.models.aggregate import Aggregate
from sessions_app.models.attachment import Attachment, AttachmentContent
from sessions_app.models.beside import CopiedUsage, ModelPreference, ProjectPlace, RunDetail, WarmSession
from sessions_app.models.claims import (
    Capability,
    ContinuationClaim,
    PartialSegment,
    PartialSnapshot,
    SessionCreateClaim,
    SubagentSpawn,
)
from sessions_app.models.counterpart import Counterpart
from sessions_app.models.epochs import WorkspaceEpoch, WorkspaceHead, WorkspaceVersion
from sessions_app.models.event import Event, Purge, SessionEvent
from sessions_app.models.file import TouchedFile
from sessions_app.models.hook import HookBucket, HookEvent, Quarantined, SpoolReport
from sessions_app.models.label import SessionLabel
from sessions_app.models.ledger import LedgerCall, ToolJournalEntry, ToolOperation
from sessions_app.models.log import LogEntry
from sessions_app.models.memory import AgentMessage, Decision, Mistake, Plan
from sessions_app.models.place import Project, Workspace, WorkspaceFocus
from sessions_app.models.routing import RoutingEvent
from sessions_app.models.seen import SeenMark
from sessions_app.models.session import Session, SessionState, Tombstone
from sessions_app.models.tool import ToolCall
from sessions_app.models.turn import Run, Turn
from sessions_app.models.upload import Upload
from sessions_app.models.usage import CodeCount, ImportSource, Iteration, PriceOverride, UsageBucket

__all__ = [
    "AgentMessage",
    "Aggregate",
    "Attachment",
    "AttachmentContent",
    "Capability",
    "CodeCount",
    "ContinuationClaim",
    "CopiedUsage",
    "Counterpart",
    "Decision",
    "Event",
    "HookBucket",
    "HookEvent",
    "ImportSource",
    "Iteration",
    "LedgerCall",
    "LogEntry",
    "Mistake",
    "ModelPreference",
    "PartialSegment",
    "PartialSnapshot",
    "Plan",
    "PriceOverride",
    "Project",
    "ProjectPlace",
    "Purge",
    "Quarantined",
    "RoutingEvent",
    "Run",
    "RunDetail",
    "SeenMark",
    "Session",
    "SessionCreateClaim",
    "SessionEvent",
    "SessionLabel",
    "SessionState",
    "SpoolReport",
    "SubagentSpawn",
    "Tombstone",
    "ToolCall",
    "ToolJournalEntry",
    "ToolOperation",
    "TouchedFile",
    "Turn",
    "Upload",
    "UsageBucket",
    "WarmSession",
    "Workspace",
    "WorkspaceEpoch",
    "WorkspaceFocus",
    "WorkspaceHead",
    "WorkspaceVersion",
]
