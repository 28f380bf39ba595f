"""Settings: people, what was deleted and erased, and what is masked before it is stored."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings as configuration
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from contextdash import background, housekeeping, live
from contextdash.cleaning import clean, cut_bytes
from contextdash.errors import Forbidden
from contextdash.limits import KIB
from contextdash.models import MaskedCount
from contextdash.redaction import PATTERNS, try_out
from contextdash.redaction_examples import EXAMPLES
from contextdash.rendering.numbers import number
from contextdash.viewkit import Tab, actor_of, changes, for_owners, person_of, whole_number
from sessions_app import housekeeping as sessions_housekeeping
from sessions_app.queries import kept as queries
from sessions_app.queries.sessions_api import any_session
from sessions_app.services.purging import purge_session

PURGE_SECONDS = 1.0
"""How long a page waits for a purge; what takes longer is shown as it goes on."""
TRIED_BYTES = 64 * KIB
EXAMPLE_CHARS = 34
SPELLED = {
    "age": "age",
    "aws": "AWS",
    "api": "API",
    "digitalocean": "DigitalOcean",
    "github": "GitHub",
    "gitlab": "GitLab",
    "jwt": "JSON web token",
    "npm": "npm",
    "oauth": "OAuth",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "pypi": "PyPI",
    "sendgrid": "SendGrid",
    "url": "URL",
}
"""Names that are not written as other words are."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of secret, as the page tells it."""

    name: str
    looks_like: str
    stored_as: str
    masked: MaskedCount | None


@require_GET
def settings(request: HttpRequest) -> HttpResponse:
    """The first page of the area that the person may see."""
    return redirect("people" if person_of(request).is_owner else "kept")


@require_GET
def kept(request: HttpRequest) -> HttpResponse:
    _writers_only(request)
    version = queries.kept_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    before = whole_number(request.GET.get("before", ""))
    erased = queries.purges(before=before)
    context = {
        **area(request, "kept"),
        "deleted": queries.deleted_sessions(),
        "running": queries.open_purges(),
        "erased": erased.items,
        "next_url": f"?before={erased.next}" if erased.next else None,
        "first_url": reverse("kept") if before else None,
        "retention_days": queries.retention_days(),
        "buckets_days": sessions_housekeeping.BUCKETS_KEPT.days,
        "quarantined_days": sessions_housekeeping.QUARANTINED_KEPT.days,
        "receipts_hours": housekeeping.RECEIPTS_KEPT.days * 24,
        "late": [state for state in background.states() if state.late],
    }
    return live.respond(request, "settings/kept.html", context, version=version, fragment="live")


@for_owners
@changes
def purge(request: HttpRequest, session_id: str) -> HttpResponse:
    """Erase a session's events. What takes long goes on in the background; the page shows how far it is."""
    session = any_session(session_id)
    done = purge_session(
        session=session,
        actor=actor_of(request),
        reason=request.POST.get("reason", ""),
        seconds=PURGE_SECONDS,
    )
    if done.finished_at is None:
        messages.success(request, "Erasing has begun and goes on; this page shows how far it is.")
        return redirect("kept")
    count = done.events_deleted
    messages.success(request, f"Erased for good: {number(count)} {'event' if count == 1 else 'events'}.")
    return redirect("kept") if session.deleted_at else redirect("session", session.id)


@require_http_methods(["GET", "POST"])
@never_cache
@sensitive_post_parameters("text")
def redaction(request: HttpRequest) -> HttpResponse:
    """What is masked. A text that is posted is tried out and kept nowhere."""
    _writers_only(request)
    context = {**area(request, "redaction"), "on": configuration.REDACTION, "kinds": _kinds()}
    if request.method == "POST":
        text = cut_bytes(clean(request.POST.get("text", "")), TRIED_BYTES)
        masked, found = try_out(text)
        context |= {"text": text, "masked": masked, "found": _counted(list(found)), "tried": True}
    return render(request, "settings/redaction.html", context)


def tabs(request: HttpRequest, current: str) -> list[Tab]:
    """The pages of the area that the person may see."""
    pages = [("projects", "Projects"), ("kept", "Kept and erased"), ("redaction", "Redaction")]
    if person_of(request).is_owner:
        pages.insert(0, ("people", "People"))
    return [Tab(title, reverse(name), name == current) for name, title in pages]


def area(request: HttpRequest, current: str) -> dict[str, Any]:
    """What the frame of each page of the area needs."""
    return {"nav": "settings", "tabs": tabs(request, current)}


def _writers_only(request: HttpRequest) -> None:
    if not person_of(request).may_write:
        raise Forbidden("Settings are for members and owners.")


def _kinds() -> list[Kind]:
    counts = {row.kind: row for row in MaskedCount.objects.all()}
    return [
        Kind(
            name=_spelled(pattern.kind),
            looks_like=_shortened(EXAMPLES[pattern.kind]),
            stored_as=" ".join(try_out(EXAMPLES[pattern.kind])[0].split()),
            masked=counts.get(pattern.kind),
        )
        for pattern in PATTERNS
    ]


def _spelled(kind: str) -> str:
    first, *others = kind.split("-")
    return " ".join([SPELLED.get(first, first.capitalize()), *(SPELLED.get(word, word) for word in others)])


def _shortened(text: str) -> str:
    """Its two ends on one line."""
    line = " ".join(text.split())
    half = EXAMPLE_CHARS // 2
    return line if len(line) <= EXAMPLE_CHARS else f"{line[:half]}…{line[-half:]}"


def _counted(kinds: list[str]) -> list[tuple[str, int]]:
    return [(_spelled(kind), kinds.count(kind)) for kind in dict.fromkeys(kinds)]
