"""The gate: may this diff be committed? Each answer is a row of hook_events."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings

from contextdash import clock
from contextdash.actor import Actor
from contextdash.diffhash import diff_hash, documents_only, files_of
from contextdash.errors import Invalid
from contextdash.ids import EMPTY_DIFF, diff_key
from contextdash.limits import WINDOW_MAX_DAYS
from contextdash.writer import write
from reviews_app.queries.diffs import Answer, Verdict, judge, key_of_prefix
from sessions_app.services.hook_events import log_hook_event
from sessions_app.vocabulary import HookOutcome

HOOK_NAME = "contextdash-gate"
EVENT_TYPE = "beforeCommit"

OVERRIDE = "env-override"
DOCUMENTS = "docs-only"
EMPTY = "no-staged-files"

_OUTCOMES = {
    Answer.FRESH: HookOutcome.OK,
    Answer.STALE: HookOutcome.FAIL,
    Answer.UNKNOWN: HookOutcome.FAIL,
    Answer.BLOCKED: HookOutcome.FAIL,
    Answer.SKIPPED: HookOutcome.SKIP,
}
_REASONS = {
    Answer.STALE: "no-fresh-review",
    Answer.UNKNOWN: "no-fresh-review",
    Answer.BLOCKED: "open-findings",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the gate is asked about: a diff by its bytes or its hash, and the files where they are known."""

    key: str
    files: Sequence[str] = ()
    skip: str = ""
    """Why nothing is to be judged, from the asker or from the files."""


def asked_by_diff(raw: bytes) -> Asked:
    files = files_of(raw)
    if not raw:
        return Asked(EMPTY_DIFF, skip=EMPTY)
    return Asked(diff_hash(raw), files, DOCUMENTS if documents_only(files) else "")


def asked_by_hash(text: str, *, files: Sequence[str] = (), skip: str = "") -> Asked:
    """A whole hash, or the beginning of one that findings carry.

    Raises:
        Invalid: it is neither.
    """
    key = diff_key(text) or key_of_prefix(text)
    if not key:
        raise Invalid(
            "This is no diff hash: 64 hex digits, or at least 7 from the start of one that was reviewed.",
            field="diff_hash",
        )
    if not skip and key == EMPTY_DIFF:
        skip = EMPTY
    elif not skip and documents_only(files):
        skip = DOCUMENTS
    return Asked(key, files, skip)


def window_of(text: str | None) -> timedelta:
    """How long a review counts as fresh; without a text it is the setting's.

    Raises:
        Invalid: it is not a length of time, or longer than WINDOW_MAX_DAYS.
    """
    if not text:
        return settings.GATE_WINDOW
    window = clock.parse_window(text)
    if window is None or not timedelta(0) < window <= timedelta(days=WINDOW_MAX_DAYS):
        raise Invalid(
            f"window is a number with s, m, h or d, such as 2h, at most {WINDOW_MAX_DAYS}d.", field="window"
        )
    return window


@write
def ask_gate(
    *,
    asked: Asked,
    window: timedelta,
    actor: Actor,
    session_id: str | None = None,
    hook_name: str = HOOK_NAME,
) -> Verdict:
    """The gate's answer, written down.

    Raises:
        Conflict: the named session was deleted.
    """
    started_us = clock.now_us()
    verdict = judge(asked.key, window=window, skip=asked.skip)
    log_hook_event(
        hook_name=hook_name,
        event_type=EVENT_TYPE,
        outcome=_OUTCOMES[verdict.answer],
        duration_ms=(clock.now_us() - started_us) // 1000,
        payload_json=json.dumps(_payload(verdict, asked)),
        session_id=session_id,
        actor=actor,
    )
    return verdict


def _payload(verdict: Verdict, asked: Asked) -> dict[str, object]:
    """The keys of the older gate (hash, cached, reason, fileCount), and our answer."""
    payload: dict[str, object] = {"answer": verdict.answer.value}
    if verdict.answer == Answer.SKIPPED:
        payload["reason"] = verdict.skip
    else:
        payload["hash"] = verdict.key
        if verdict.answer == Answer.FRESH:
            payload["cached"] = True
        else:
            payload["reason"] = _REASONS[verdict.answer]
    if asked.files:
        payload["fileCount"] = len(asked.files)
    return payload
