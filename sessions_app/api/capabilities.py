"""What this server's ledger can do, and what its clients rely on."""

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import Field

from contextdash.apikit import Body, allow
from contextdash.models.token import Scope
from sessions_app.queries.capabilities import SPOKEN, Known, capabilities
from sessions_app.services.capabilities import declare_capability

router = Router(tags=["claims"])


class CapabilityIn(Body):
    version: int


class CapabilityOut(Schema):
    capability: str
    version: int
    required: bool = Field(description="This server speaks it, in just this version.")


class CapabilityList(Schema):
    items: list[CapabilityOut]
    next: None


@router.get("", response=CapabilityList, summary="Capabilities of the ledger")
def get_capabilities(request: HttpRequest) -> Any:
    allow(request, Scope.READ)
    return {"items": capabilities(), "next": None}


@router.put("/{capability}", response=CapabilityOut, summary="Declare a capability")
def put_capability(request: HttpRequest, capability: str, payload: CapabilityIn) -> Any:
    """What a client relies on, for information. Another version of what this server speaks is refused."""
    actor = allow(request, Scope.WRITE)
    row = declare_capability(capability=capability, version=payload.version, actor=actor)
    return Known(row.capability, row.version, row.capability in SPOKEN)
