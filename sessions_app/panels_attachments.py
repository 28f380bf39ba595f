"""The files of a session as a panel of its page; they, documents and logs leave with its export."""

from typing import Any

from sessions_app.models import Aggregate, Attachment, LogEntry, RoutingEvent, Session
from sessions_app.queries.attachments import files_of, hidden_count, seen_count
from sessions_app.registry import Exported, Panel, registry

EXPORTED = (
    Exported(
        "attachments",
        "Attachments",
        lambda session: Attachment.objects.filter(session=session),
        "filename",
        ("media_type", "size", "version", "audience", "storage_uri"),
        ("transcription",),
    ),
    Exported(
        "routing_events",
        "Routing of model calls",
        lambda session: RoutingEvent.objects.filter(iteration__session=session),
        "type",
        ("reason", "from_provider", "from_model", "to_provider", "to_model", "status"),
        ("error",),
    ),
    Exported(
        "aggregates",
        "Documents of extensions",
        lambda session: Aggregate.objects.filter(session=session),
        "aggregate_key",
        ("extension", "kind", "scope", "version"),
    ),
    Exported(
        "logs",
        "Log",
        lambda session: LogEntry.objects.filter(session=session),
        "event",
        ("level",),
        ("message",),
    ),
)
"""Of attachments what is known of them: their bytes are read one by one."""


def register() -> None:
    """Called once, from ``AppConfig.ready``."""
    registry.add_panel(
        Panel(
            slug="attachments",
            title="Attachments",
            template="attachments/panel.html",
            context=_files,
            count=seen_count,
            styles="pages/session_panels.css",
        )
    )
    for exported in EXPORTED:
        registry.add_export(exported)


def _files(session: Session) -> dict[str, Any]:
    return {"files": files_of(session), "for_model": hidden_count(session)}
