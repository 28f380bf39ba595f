"""One story: its page, which is also the board's drawer, and everything people do with it."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from backlog_app.forms import StoryForm, initial_of
from backlog_app.models import BacklogItem, LinkKind, StoryStatus
from backlog_app.queries import board as boards
from backlog_app.queries import stories as queries
from backlog_app.queries.filters import Filters, current_sprint
from backlog_app.services import checklist, moving, relations, stories
from contextdash import live
from contextdash.errors import Invalid, Refused
from contextdash.viewkit import actor_of, changes, wants_fragment, whole_number

CHANGED = "board:changed"
"""Tells the board beside the drawer to look for news at once."""


@require_GET
def story(request: HttpRequest, story_id: int) -> HttpResponse:
    version = boards.version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    context = _context(request, story_id)
    return live.respond(request, "board/story.html", context, version=version, fragment="story")


def new(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _add(request)
    by = Filters.from_query(request.GET)
    sprint = current_sprint(by.project)
    initial = {"project": by.project, "priority": 3, "status": StoryStatus.TODO}
    if by.sprint == "current" and sprint is not None:
        initial["sprint_id"] = sprint.pk
    elif by.sprint_number is not None:
        initial["sprint_id"] = by.sprint_number
    return _form_page(request, StoryForm(initial=initial), title="New story")


def edit(request: HttpRequest, story_id: int) -> HttpResponse:
    if request.method == "POST":
        return _change(request, story_id)
    row = queries.one(story_id)
    form = StoryForm(initial=initial_of(row), story=row)
    return _form_page(request, form, title=f"Edit S-{row.pk}", row=row)


@changes
def move(request: HttpRequest, story_id: int) -> HttpResponse:
    """A drag, a key or a button; the answer to a script is empty and names the new version."""
    where = request.POST.get("where", "")
    after, before = _number(request, "after"), _number(request, "before")
    if where:
        after, before = queries.neighbours(story_id, where)
        if after is None and before is None:
            return _after(request, story_id)
    row = moving.move_story(
        story_id=story_id,
        to_status=request.POST.get("to") or None,
        after_id=after,
        before_id=before,
        expected_version=_number(request, "version"),
        actor=actor_of(request),
        reason=request.POST.get("reason", ""),
    )
    if "bare" in request.POST:
        return HttpResponse(status=204, headers={"X-Story-Version": str(row.version)})
    return _after(request, story_id)


@changes
def tick(request: HttpRequest, story_id: int) -> HttpResponse:
    """Only boxes that differ from what this reader was shown are changed: a stale page unticks nothing."""
    shown = set(request.POST.getlist("shown"))
    ticked = set(request.POST.getlist("met"))
    for raw in sorted(shown ^ ticked):
        checklist.tick_criterion(
            story_id=story_id,
            criterion_id=_whole(raw, "criterion"),
            met=raw in ticked,
            actor=actor_of(request),
        )
    return _after(request, story_id)


@changes
def comment(request: HttpRequest, story_id: int) -> HttpResponse:
    relations.comment_on(story_id=story_id, body=request.POST.get("body", ""), actor=actor_of(request))
    return _after(request, story_id)


@changes
def link(request: HttpRequest, story_id: int) -> HttpResponse:
    """``kind`` may also be ``story``: then it is a dependency."""
    kind, ref = request.POST.get("kind", ""), request.POST.get("ref", "").strip()
    actor = actor_of(request)
    if kind == "story":
        number = _whole(ref.upper().removeprefix("S-").removeprefix("#"), "story")
        relations.add_dependency(story_id=story_id, blocked_by_id=number, actor=actor)
    else:
        relations.link_story(story_id=story_id, kind=kind, ref=ref, actor=actor)
    return _after(request, story_id)


@changes
def unlink(request: HttpRequest, story_id: int) -> HttpResponse:
    actor = actor_of(request)
    link_id, other = _number(request, "link"), _number(request, "blocked_by")
    if link_id is not None:
        relations.unlink_story(story_id=story_id, link_id=link_id, actor=actor)
    elif other is not None:
        relations.remove_dependency(story_id=story_id, blocked_by_id=other, actor=actor)
    return _after(request, story_id)


@changes
def delete(request: HttpRequest, story_id: int) -> HttpResponse:
    stories.delete_story(
        story_id=story_id,
        actor=actor_of(request),
        reason=request.POST.get("reason", ""),
        expected_version=_number(request, "version"),
    )
    return redirect(f"{reverse('board')}?{urlencode({'undo': story_id})}")


@changes
def restore(request: HttpRequest, story_id: int) -> HttpResponse:
    stories.restore_story(story_id=story_id, actor=actor_of(request))
    messages.success(request, f"S-{story_id} is back in its place")
    return redirect("board")


@changes
def _add(request: HttpRequest) -> HttpResponse:
    form = StoryForm(request.POST)
    if form.is_valid():
        try:
            row = stories.add_story(actor=actor_of(request), **form.values())
        except Refused as refusal:
            form.add_error(_known_field(form, refusal), refusal.detail)
        else:
            messages.success(request, f"S-{row.pk} written down")
            return redirect(f"{reverse('board')}?{Filters(project=form.cleaned_data['project']).address()}")
    return _form_page(request, form, title="New story", status=422)


@changes
def _change(request: HttpRequest, story_id: int) -> HttpResponse:
    row = queries.one(story_id)
    form = StoryForm(request.POST, story=row)
    if form.is_valid():
        try:
            stories.change_story(
                story_id=story_id,
                values=form.values(),
                actor=actor_of(request),
                reason=request.POST.get("reason", ""),
                expected_version=_number(request, "version"),
            )
        except Refused as refusal:
            form.add_error(_known_field(form, refusal), refusal.detail)
        else:
            return redirect("story", story_id)
    return _form_page(request, form, title=f"Edit S-{story_id}", row=row, status=422)


def _context(request: HttpRequest, story_id: int) -> dict[str, object]:
    found = queries.whole(queries.one(story_id))
    return {
        "nav": "board",
        "whole": found,
        "story": found.story,
        # In the drawer the board has the page's h1; what the drawer asks next says so again.
        "marked": "?drawer=1" if "drawer" in request.GET else "",
        "columns": StoryStatus.choices,
        "kinds": [*LinkKind.choices, ("story", "Waits for story")],
        "met_ids": [item.pk for item in found.criteria if item.met_at],
    }


def _after(request: HttpRequest, story_id: int) -> HttpResponse:
    """The story as it is now: the fragment for the drawer, else its page."""
    if not wants_fragment(request):
        return redirect("story", story_id)
    context = {**_context(request, story_id), "version": boards.version()}
    response = render(request, "board/story.html#story", context)
    response["HX-Trigger"] = CHANGED
    return response


def _form_page(
    request: HttpRequest, form: StoryForm, *, title: str, row: BacklogItem | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "nav": "board",
        "form": form,
        "title": title,
        "story": row,
        # A form that was refused keeps the version that its reader saw, else a second try would overwrite.
        "seen_version": request.POST.get("version") or (row.version if row is not None else ""),
        "agents": boards.known_agents(),
    }
    return render(request, "board/form.html", context, status=status)


def _known_field(form: StoryForm, refusal: Refused) -> str | None:
    return refusal.field if refusal.field in form.fields else None


def _number(request: HttpRequest, name: str) -> int | None:
    raw = request.POST.get(name, "").strip()
    return _whole(raw, name) if raw else None


def _whole(raw: str, name: str) -> int:
    number = whole_number(raw)
    if number is None:
        raise Invalid(f"{name} is not a number.", field=name)
    return number
