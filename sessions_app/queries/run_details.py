"""What writers told of a run, with private reasoning left out unless it is asked for."""

from collections.abc import Sequence
from typing import Any

from contextdash.actor import Actor
from contextdash.apikit import may
from contextdash.errors import Forbidden
from contextdash.models.token import Scope
from sessions_app.models import Run, RunDetail, Session


def detail_of(run: Run) -> RunDetail:
    """An empty one where nothing was told."""
    found = RunDetail.objects.select_related("retried_from").filter(run=run).first()
    return found or RunDetail(run=run)


def shown(blocks: Sequence[Any]) -> list[Any]:
    """The blocks; of reasoning that is not marked visible only that there is some.

    What is not marked at all is private: whoever forgot the mark did not mean to publish a thought.
    """
    return [_without_text(block) if is_private(block) else block for block in blocks]


def is_private(block: Any) -> bool:
    return (
        isinstance(block, dict) and block.get("type") == "reasoning" and block.get("visibility") != "visible"
    )


def permit_private(actor: Actor, session: Session) -> None:
    """Private reasoning is for who owns the session, and for owners with scope admin.

    Raises:
        Forbidden: this caller is neither.
    """
    owns = actor.user is not None and actor.user.pk == session.owner_id
    if not (owns or may(actor, Scope.ADMIN)):
        raise Forbidden("Private reasoning is for the session's owner, or scope admin.")


def _without_text(block: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {name: block[name] for name in ("id", "type", "visibility") if name in block}
    return {**kept, "hidden": True}
