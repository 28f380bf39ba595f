"""What a reader copies to connect an agent: a command, a file's content, a line to try."""

import json
from dataclasses import dataclass

from django.http import HttpRequest

from contextdash.connect.clients import CLAUDE_CODE_HTTP, CLIENTS

NAMES = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "cursor": "Cursor",
    "copilot": "Copilot",
    "opencode": "OpenCode",
}
ENVIRONMENT_TOKEN = '"$CONTEXTDASH_TOKEN"'  # noqa: S105 - the name of a variable, not a secret


@dataclass(frozen=True, slots=True)
class Snippet:
    client: str
    name: str
    command: str
    settings: str
    """The file that does the same by hand; only Claude Code can do without our hook client."""
    trial: str
    """A line that delivers one event without an agent."""
    telemetry: str
    """What switches the client's telemetry on; for others than Claude Code what any exporter needs."""


def snippet(client: str, *, base: str, secret: str) -> Snippet:
    """For one client of CLIENTS (any other: Claude Code); ``base`` is this server's address without a slash.

    ``secret`` is the token that was made just now, or empty.
    """
    client = client if client in CLIENTS else "claude-code"
    token = secret or ENVIRONMENT_TOKEN
    return Snippet(
        client=client,
        name=NAMES.get(client, client),
        command=connect_command(client, base=base, token=token),
        settings=_claude_settings(base) if client == "claude-code" else "",
        trial=(
            f"curl -sS {base}/api/v1/hooks/{client} -H 'Content-Type: application/json' "
            f"-H {_header(token)} "
            """-d '{"hook_event_name": "SessionStart", "session_id": "hello", "source": "startup"}'"""
        ),
        telemetry=_telemetry(client, base=base, token=token),
    )


def connect_command(client: str, *, base: str, token: str = ENVIRONMENT_TOKEN) -> str:
    return f"contextdash connect {client} --url {base} --token {token}"


def base_of(request: HttpRequest) -> str:
    """This server's address as the reader reached it, without a slash; sandboxes often know no localhost."""
    return request.build_absolute_uri("/").rstrip("/").replace("//localhost", "//127.0.0.1")


def _header(token: str) -> str:
    return f'"Authorization: Bearer {token.strip(chr(34))}"'


def _telemetry(client: str, *, base: str, token: str) -> str:
    lines = [
        "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
        f"OTEL_EXPORTER_OTLP_ENDPOINT={base}/otlp",
        # A space in a header's value is written as in an address.
        f'OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20{token.strip(chr(34))}"',
    ]
    if client == "claude-code":
        exporters = [f"OTEL_{signal}_EXPORTER=otlp" for signal in ("LOGS", "METRICS", "TRACES")]
        switches = ["CLAUDE_CODE_ENABLE_TELEMETRY=1", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1"]
        lines = [*switches, *exporters, *lines, "OTEL_LOG_USER_PROMPTS=1", "OTEL_LOG_TOOL_DETAILS=1"]
    return "\n".join(f"export {line}" for line in lines)


def _claude_settings(base: str) -> str:
    address = f"{base}/api/v1/hooks/claude-code"
    command = {
        "type": "command",
        # It must print nothing and end well: what SessionStart prints becomes the agent's context.
        "command": (
            "curl -s -m 2 -o /dev/null -H 'Content-Type: application/json' "
            f"-H {_header(ENVIRONMENT_TOKEN)} --data-binary @- {address} || true"
        ),
        "timeout": 5,
    }
    http = {
        "type": "http",
        "url": address,
        "headers": {"Authorization": "Bearer ${CONTEXTDASH_TOKEN}"},
        "allowedEnvVars": ["CONTEXTDASH_TOKEN"],
        "timeout": 5,
    }
    hooks = {"SessionStart": command, **dict.fromkeys(CLAUDE_CODE_HTTP, http)}
    return json.dumps(
        {"hooks": {event: [{"hooks": [handler]}] for event, handler in hooks.items()}}, indent=2
    )
