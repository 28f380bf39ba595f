"""Which protocols of the ledger this server speaks, and which its clients said they rely on."""

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid
from contextdash.writer import write
from sessions_app.models import Capability
from sessions_app.queries.capabilities import SPOKEN
from sessions_app.services.claim_ids import claim_id


@write
def declare_capability(*, capability: str, version: int, actor: Actor) -> Capability:
    """Write down that clients rely on a capability in that version; the highest is kept.

    Raises:
        Invalid: the name is none, or the version is not 1 or more.
        Conflict: this server speaks another version of it (``unsupported_version``).
    """
    name = claim_id(capability, "capability")
    if not 1 <= version < 2**31:
        raise Invalid("version must be 1 or more.", field="version")
    if name in SPOKEN and version != SPOKEN[name]:
        raise Conflict(
            f"This server speaks version {SPOKEN[name]} of {name}.",
            field="version",
            code="unsupported_version",
        )
    row, made = Capability.objects.get_or_create(
        capability=name, defaults={"version": version, "updated_us": clock.now_us()}
    )
    if not made and row.version < version:
        Capability.objects.filter(pk=row.pk, version__lt=version).update(
            version=version, updated_us=clock.now_us()
        )
        row.refresh_from_db()
    return row
