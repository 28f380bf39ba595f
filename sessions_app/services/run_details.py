"""What writers tell of a run beyond how it went: typed blocks, context, error, outcome, model."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from django.db.models import F

from contextdash.actor import Actor
from contextdash.cleaning import cut_bytes
from contextdash.errors import Invalid
from contextdash.fields import word
from contextdash.limits import CONTENT_BLOCKS, CONTENT_BYTES, TEXT_BYTES
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import Run, RunDetail, Session
from sessions_app.services.documents import document
from sessions_app.services.ledger_append import locked_run

WORDS = {"provider": 100, "model": 200, "prior_outcome": 40}
DOCUMENTS = ("content", "ctx", "error")


@write
def tell_run(
    *,
    run: Run,
    values: Mapping[str, Any],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> RunDetail:
    """Set what is told: fields of WORDS, ``content`` (a list of blocks), ``ctx`` and ``error`` (any JSON).

    Blocks of unknown types are kept as sent. Where the run has no answer or error text yet, the prose of the
    blocks and the message of the error become it, so that it reads like any other. A large document stands
    in the history by its size.

    Raises:
        Conflict: its session was deleted.
        Invalid: another field is named, or a value is not acceptable.
        Stale: the run is not at ``expected_version`` any more.
        TooLarge: a document is longer than CONTENT_BYTES.
    """
    run = locked_run(run.key)
    detail = RunDetail.objects.filter(run=run).first() or RunDetail(run=run)
    checked = {name: _checked(name, value) for name, value in values.items()}
    moved = {name: value for name, value in checked.items() if getattr(detail, name) != value}
    texts = _texts(run, moved)
    if not moved and not texts and expected_version is None:
        return detail
    change_row(
        run,
        values=texts,
        actor=actor,
        reason=reason,
        expected_version=expected_version,
        unrecorded=frozenset({"answer", "error"}),
        elsewhere={name: (_told(getattr(detail, name)), _told(value)) for name, value in moved.items()},
    )
    for name, value in moved.items():
        setattr(detail, name, value)
    detail.save()
    Session.objects.filter(key=run.session_id).update(ordinal=F("ordinal") + 1)
    return detail


def _checked(name: str, value: Any) -> Any:
    if name in WORDS:
        return word(value, name, chars=WORDS[name], required=False)
    if name not in DOCUMENTS:
        raise Invalid(f"{name} of a run cannot be told.", field=name)
    if name == "content":
        value = [] if value is None else value
        if not isinstance(value, list):
            raise Invalid("content must be a list of blocks.", field=name)
        if len(value) > CONTENT_BLOCKS:
            raise Invalid(f"content has more than {CONTENT_BLOCKS} blocks (CONTENT_BLOCKS).", field=name)
    return document(value, name, most=CONTENT_BYTES, name="CONTENT_BYTES")


def prose_of(blocks: Sequence[Any]) -> str:
    """What the blocks say to a person, as Markdown."""
    told = [block for block in blocks if isinstance(block, dict) and block.get("type") == "prose"]
    return "\n\n".join(block["markdown"] for block in told if isinstance(block.get("markdown"), str))


def _texts(run: Run, moved: Mapping[str, Any]) -> dict[str, str]:
    texts = {}
    if not run.answer and (prose := prose_of(moved.get("content") or ())):
        texts["answer"] = cut_bytes(prose, TEXT_BYTES)
    failure = moved.get("error")
    if not run.error and isinstance(failure, dict) and isinstance(failure.get("message"), str):
        texts["error"] = cut_bytes(failure["message"], TEXT_BYTES)
    return texts


def _told(value: Any) -> str:
    """A value in the history."""
    if isinstance(value, str):
        return value
    made = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(made) <= 500:
        return made
    raw = made.encode("utf-8", "surrogatepass")
    return f"{len(raw)} bytes of JSON, SHA-256 {sha256(raw).hexdigest()[:16]}"
