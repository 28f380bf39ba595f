"""Documents of extensions, by extension, kind, key and scope."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from contextdash import clock
from contextdash.apikit import Body, allow, if_match
from contextdash.errors import Invalid
from contextdash.models.token import Scope
from sessions_app.models import Aggregate
from sessions_app.queries import aggregates as queries
from sessions_app.queries import sessions_api
from sessions_app.services.aggregates import (
    GLOBAL,
    Address,
    delete_aggregate,
    find_aggregate,
    put_aggregate,
)

router = Router(tags=["aggregates"])


class AggregateIn(Body):
    content: Any = None
    index_data: Any = Field(None, description="What the list can look for it by.")


class AggregateItem(Schema):
    extension: str
    kind: str
    key: str
    scope: str
    session_id: str | None
    index_data: Any
    version: int
    created_at: str
    updated_at: str


class AggregateOut(AggregateItem):
    content: Any


class AggregateList(Schema):
    items: list[AggregateItem]
    next: None


class AggregateQuery(Schema):
    kind: str = ""
    scope: str = ""
    session: str | None = None
    index: list[str] = Field([], description="name=value of index_data, compared as text; all hold.")


@router.get("/{extension}", response=AggregateList, summary="Documents of an extension, newest update first")
def aggregates(request: HttpRequest, extension: str, query: Query[AggregateQuery]) -> Any:
    """At most 100 (``AGGREGATE_ROWS``), without their content."""
    allow(request, Scope.READ)
    found = queries.aggregate_list(
        extension=extension,
        kind=query.kind,
        scope=query.scope,
        session=sessions_api.find_session(query.session) if query.session else None,
        index=query.index,
    )
    return {"items": [_item(row) for row in found], "next": None}


@router.get("/{extension}/{kind}/{key}", response=AggregateOut, summary="One document")
def aggregate(request: HttpRequest, extension: str, kind: str, key: str, scope: str = GLOBAL) -> Any:
    allow(request, Scope.READ)
    return _out(find_aggregate(Address(extension, kind, key, scope)))


@router.put(
    "/{extension}/{kind}/{key}",
    response={200: AggregateOut, 201: AggregateOut},
    summary="Make or swap a document",
)
def put(
    request: HttpRequest, extension: str, kind: str, key: str, payload: AggregateIn, scope: str = GLOBAL
) -> Status[Any]:
    """One that is there is changed only with ``If-Match: version``; ``If-None-Match: *`` only makes one."""
    actor = allow(request, Scope.WRITE)
    none_match = request.headers.get("If-None-Match")
    if none_match is not None and none_match.strip() != "*":
        raise Invalid("If-None-Match must be *.", field="If-None-Match")
    row, made = put_aggregate(
        address=Address(extension, kind, key, scope),
        content=payload.content,
        index_data=payload.index_data,
        expected_version=if_match(request),
        must_be_new=none_match is not None,
        actor=actor,
    )
    return Status(201 if made else 200, _out(row))


@router.delete("/{extension}/{kind}/{key}", response={204: None}, summary="Delete a document")
def delete(request: HttpRequest, extension: str, kind: str, key: str, scope: str = GLOBAL) -> Status[None]:
    """With ``If-Match`` only at that version."""
    actor = allow(request, Scope.WRITE)
    delete_aggregate(
        address=Address(extension, kind, key, scope), expected_version=if_match(request), actor=actor
    )
    return Status(204, None)


def _item(row: Aggregate) -> dict[str, Any]:
    return {
        "extension": row.extension,
        "kind": row.kind,
        "key": row.aggregate_key,
        "scope": row.scope,
        "session_id": row.session.id if row.session else None,
        "index_data": row.index_data,
        "version": row.version,
        "created_at": clock.iso(clock.from_us(row.created_us)),
        "updated_at": clock.iso(clock.from_us(row.updated_us)),
    }


def _out(row: Aggregate) -> dict[str, Any]:
    return {**_item(row), "content": row.content}
