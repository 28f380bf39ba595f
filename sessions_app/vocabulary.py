"""The words of the model. A value from outside that is none of them is kept as sent and shown as "other"."""

from django.db.models import TextChoices


class SessionStatus(TextChoices):
    ACTIVE = "active"
    COMPACTED = "compacted"
    CLOSED = "closed"
    ERRORED = "errored"


class Activity(TextChoices):
    """What a session is doing now; moved by its hooks."""

    WORKING = "working"
    WAITING = "waiting"  # for a person
    IDLE = "idle"
    ENDED = "ended"


class Source(TextChoices):
    HOOK = "hook"
    TRANSCRIPT = "transcript"
    OTLP = "otlp"
    API = "api"


class EventKind(TextChoices):
    """What an event means, whichever client sent it (design: one internal vocabulary)."""

    SESSION_START = "session_start"
    SESSION_END = "session_end"
    PROMPT = "prompt"
    MODEL_CALL = "model_call"  # telemetry of one: its tokens are an Iteration
    ANSWER = "answer"  # a text of the agent within a turn; the newest is the turn's answer
    TURN_END = "turn_end"
    TURN_FAILED = "turn_failed"
    TOOL_START = "tool_start"
    TOOL_END = "tool_end"
    TOOL_FAILED = "tool_failed"
    TOOL_DENIED = "tool_denied"
    TOOL_BATCH = "tool_batch"  # what a group of parallel calls gave: each has told so itself
    PERMISSION = "permission"
    NOTIFICATION = "notification"
    SUBAGENT_START = "subagent_start"
    SUBAGENT_END = "subagent_end"
    COMPACT_START = "compact_start"
    COMPACT_END = "compact_end"
    TASK = "task"
    CONTEXT = "context"  # instructions loaded, directory or model changed: what the agent works with
    OTHER = "other"  # known to nobody: stored and shown as sent


class RunStatus(TextChoices):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class WorkspaceKind(TextChoices):
    TRUNK = "trunk"  # the real folder
    DRAFT = "draft"  # a private copy of it
    CHECKPOINT = "checkpoint"


class WorkspaceState(TextChoices):
    ACTIVE = "active"
    DISCARDED = "discarded"


class Audience(TextChoices):
    """Who an attachment is for."""

    BOTH = "both"
    USER = "user"  # never sent to the model
    MODEL = "model"  # not shown to people unless they ask


class LogLevel(TextChoices):
    TRACE = "trace"
    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"
    FATAL = "fatal"


class StartKind(TextChoices):
    """How the first event of a continuation came to be."""

    RUNTIME_ADMISSION = "runtime_admission"
    CLAIM_REPAIR = "claim_repair"


class CallState(TextChoices):
    PREPARED = "prepared"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    INTERRUPTED = "interrupted"  # shown as "no result"


class OperationState(TextChoices):
    """Of a tool operation in a ledger. ``prepared`` may stay for ever: nobody knows how it ended."""

    PREPARED = "prepared"
    OUTCOME_COMMITTED = "outcome_committed"
    RECOVERY_COMPLETED = "recovery_completed"
    RECOVERY_PARKED = "recovery_parked"


class RecoveryMode(TextChoices):
    """What may be done about an operation that was dispatched and not answered."""

    REPLAY_SAFE = "replay_safe"
    IDEMPOTENT = "idempotent"
    RECONCILE = "reconcile"
    REATTACH = "reattach"
    OUTCOME_UNKNOWN = "outcome_unknown"
    NEVER_AUTO_RETRY = "never_auto_retry"


class FileAction(TextChoices):
    """What a tool call did to a file."""

    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    DELETE = "delete"


class MessageRole(TextChoices):
    REQUEST = "request"
    RESPONSE = "response"
    HANDOFF = "handoff"
    FINDING = "finding"


class PlanStatus(TextChoices):
    PROPOSED = "proposed"
    APPROVED = "approved"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    SUPERSEDED = "superseded"


class DecisionStatus(TextChoices):
    STANDS = "stands"
    CONFLICT = "conflict"
    SUPERSEDED = "superseded"


class MistakeCategory(TextChoices):
    BUILD = "build"
    TEST = "test"
    REVIEW = "review"
    DISPATCH = "dispatch"
    SOURCE_GEN = "source-gen"
    PUBLISH = "publish"
    HOOK = "hook"
    SCHEMA = "schema"
    OTHER = "other"


class HookOutcome(TextChoices):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


GATE_HOOKS = ("contextdash-gate", "20-autoreview.csx", "20-autoreview")
"""The reports that say how often a diff was answered from its review: our gate, and the older one's.

Their "fail" is an answer, that a diff is not to be committed, and no failure of theirs.
"""
