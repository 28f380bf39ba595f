"""Capabilities of the ledger: what this server speaks, and what clients declared."""

from collections.abc import Sequence
from dataclasses import dataclass

from sessions_app.models import Capability

SPOKEN = {
    "runtime_continuation_authority": 1,
    "runtime_recovery_authority": 1,
    "runtime_workspace_version_authority": 1,
}
"""What a client may rely on. Another version of one of these is refused; others are kept for information."""

ROWS = 1000


@dataclass(frozen=True, slots=True)
class Known:
    capability: str
    version: int
    required: bool
    """This server speaks it, in just this version."""


def capabilities() -> Sequence[Known]:
    """By name: those of this server, and whatever else clients declared."""
    told = dict(Capability.objects.values_list("capability", "version")[:ROWS])
    return [Known(name, version, name in SPOKEN) for name, version in sorted((told | SPOKEN).items())]
