"""Texts that are still being streamed: pieces are added to their stream until its final event comes.

They are for showing only. A piece is masked together with what stands before it, so that a secret that was
cut in two is masked as well.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction

from contextdash import clock
from contextdash.actor import Actor
from contextdash.cleaning import clean, cut_bytes
from contextdash.errors import Conflict, Invalid
from contextdash.ids import session_id
from contextdash.limits import SEGMENT_BYTES, TEXT_BYTES
from contextdash.redaction import mask
from contextdash.writer import write
from sessions_app.ingest.observing import masked_payload
from sessions_app.ledger import envelope
from sessions_app.ledger.canonical import canonical
from sessions_app.ledger.digests import stream_key, stream_name
from sessions_app.models import PartialSegment, PartialSnapshot, Run
from sessions_app.queries.partials import is_final

_BORDER_CHARS = 1024
"""How far back from the end of a full segment a space is looked for: a word is not cut in two."""

_MARK_AT_END = re.compile(r"\[masked: [^\]]+\]\Z")
_REST_OF_SECRET = re.compile(r"[A-Za-z0-9_+/=.~-]*")


@write
def write_partial(*, key: str, pieces: Sequence[Mapping[str, Any]], actor: Actor) -> PartialSnapshot | None:
    """Add pieces, all of the stream that ``key`` names; None where its final event is there already.

    A piece is an event with ``partial: true``; the text of its content is what is added.

    Raises:
        Invalid: there is no piece, one is of another stream or is no partial event, or the text passes
            TEXT_BYTES.
        Conflict: its run is sealed, or not known.
    """
    texts = [_checked(piece, key, f"events.{place}") for place, piece in enumerate(pieces)]
    if not texts:
        raise Invalid("events must not be empty.", field="events")
    run = _run_of(pieces[0])
    if run.sealed:
        raise Conflict("The run has ended; nothing may follow its terminal event.", code="run_sealed")
    found = PartialSnapshot.objects.select_for_update().filter(stream_key=key).first()
    if found is None:
        if is_final(run, key):
            return None
        found = _begun(run, key, pieces[0])
    _add(found, "".join(texts))
    PartialSnapshot.objects.filter(pk=found.pk).update(updated_us=clock.now_us())
    found.refresh_from_db()
    return found


def delete_partials_for(*, run: Run, envelopes: Sequence[Mapping[str, Any]]) -> None:
    """The streams whose final events these are end. Call it inside the write that appends the events.

    A run without streams costs one query.
    """
    open_keys = set(PartialSnapshot.objects.filter(run=run).values_list("stream_key", flat=True))
    if open_keys:
        ended = open_keys & {stream_key(event) for event in envelopes if not event.get("partial")}
        PartialSnapshot.objects.filter(stream_key__in=ended).delete()


def erase_partials(*, session_key: int | None, until_us: int) -> None:
    """The streams of a session, or of all, that were last written up to a moment. Call it inside a purge."""
    rows = PartialSnapshot.objects.filter(updated_us__lte=until_us)
    if session_key is not None:
        rows = rows.filter(run__session=session_key)
    rows.delete()


def _checked(piece: Mapping[str, Any], key: str, place: str) -> str:
    """The text of one piece."""
    event = envelope.read(piece, place).event
    if not event.partial:
        raise Invalid("A piece is an event with partial: true.", field=f"{place}.partial")
    if not stream_name(piece):
        raise Invalid(
            "A piece of text or thinking names refs.providerEventId, one of a tool refs.toolCallId.",
            field=f"{place}.refs",
        )
    if stream_key(piece) != key:
        raise Invalid("This piece belongs to another stream than the address names.", field=place)
    return str(getattr(event.content, "text", ""))


def _run_of(piece: Mapping[str, Any]) -> Run:
    rows = Run.objects.filter(invocation_id=piece["invocationId"], session__deleted_at=None)
    run = rows.select_related("session", "turn").first()
    if run is None:
        raise Conflict("No run has this invocationId. Open the run first.", code="unknown_run")
    told = (session_id(piece["sessionId"])[0], piece["runId"], piece["turnId"])
    if told != (run.session.id, run.run_id, run.turn.turn_id):
        raise Conflict(
            "This invocationId belongs to another run, turn or session.", code="invocation_identity_conflict"
        )
    return run


def _begun(run: Run, key: str, piece: Mapping[str, Any]) -> PartialSnapshot:
    now_us = clock.now_us()
    content = piece.get("content")
    shown = dict(piece)
    if isinstance(content, dict):
        shown["content"] = {**content, "text": ""}
    try:
        with transaction.atomic():
            return PartialSnapshot.objects.create(
                stream_key=key,
                run=run,
                event_id=piece["id"],
                kind=stream_name(piece).partition(":")[0],
                after_seq=run.last_seq,
                envelope=masked_payload(shown, canonical(shown).encode())[0].decode(),
                occurred_us=envelope.at_us(piece["ts"]) or now_us,
                updated_us=now_us,
            )
    except IntegrityError:  # PostgreSQL: another piece of it came at this very moment
        return PartialSnapshot.objects.select_for_update().get(stream_key=key)


def _add(snapshot: PartialSnapshot, text: str) -> None:
    if not text:
        return
    tail = PartialSegment.objects.filter(snapshot=snapshot).order_by("-number").first()
    before = tail.text if tail is not None else ""
    joined = joined_text(before, text)
    number = tail.number if tail is not None else 1
    # All segments before the tail are nearly full, so their number tells how long the text has become.
    if (number - 1) * SEGMENT_BYTES + len(joined.encode()) > TEXT_BYTES:
        raise Invalid(f"The stream is longer than {TEXT_BYTES} bytes (TEXT_BYTES).", field="events")
    for place, part in enumerate(segments(joined)):
        PartialSegment.objects.update_or_create(
            snapshot=snapshot, number=number + place, defaults={"text": part, "size": len(part.encode())}
        )


def joined_text(before: str, text: str) -> str:
    """What is shown of a text and the piece that follows it, without a secret that they hold together."""
    if _MARK_AT_END.search(before[-80:]):
        # The rest of a secret whose beginning is masked already.
        text = text[_REST_OF_SECRET.match(text).end() :]  # type: ignore[union-attr]  # matches the empty text
    return mask(clean(before + text))


def segments(text: str) -> list[str]:
    """The text in parts of at most SEGMENT_BYTES, cut at a space where one is near."""
    parts: list[str] = []
    while len(text) * 4 > SEGMENT_BYTES and len(text.encode()) > SEGMENT_BYTES:
        part = cut_bytes(text, SEGMENT_BYTES)
        space = max(part.rfind(mark, len(part) - _BORDER_CHARS) for mark in " \n\t")
        part = part[: space + 1] if space > 0 else part
        parts.append(part)
        text = text[len(part) :]
    return [*parts, text]
