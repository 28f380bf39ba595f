"""A story is tied to a decision or a finding, or cut from it, from the page of that."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from backlog_app.models import LinkKind, StoryLink
from backlog_app.services import relations
from contextdash.errors import Invalid, NotFound
from contextdash.viewkit import actor_of, changes, next_address, whole_number


@changes
def link(request: HttpRequest) -> HttpResponse:
    """``ref`` names the story; ``kind`` and ``of`` the decision or finding."""
    kind, of, story_id = _told(request)
    relations.link_story(story_id=story_id, kind=kind, ref=of, actor=actor_of(request))
    return redirect(next_address(request, otherwise=reverse("story", args=[story_id])))


@changes
def unlink(request: HttpRequest) -> HttpResponse:
    kind, of, story_id = _told(request)
    found = StoryLink.objects.filter(story=story_id, kind=kind, ref=of).first()
    if found is None:
        raise NotFound(f"S-{story_id} is not linked to it.")
    relations.unlink_story(story_id=story_id, link_id=found.pk, actor=actor_of(request))
    return redirect(next_address(request, otherwise=reverse("story", args=[story_id])))


def _told(request: HttpRequest) -> tuple[str, str, int]:
    kind, of = request.POST.get("kind", ""), whole_number(request.POST.get("of", ""))
    story_id = whole_number(request.POST.get("ref", "").strip().upper().removeprefix("S-"))
    if kind not in (LinkKind.DECISION, LinkKind.FINDING) or of is None:
        raise Invalid("kind is decision or finding, of its number.", field="kind")
    if story_id is None:
        raise Invalid("Name the story by its number, such as S-12.", field="ref")
    return kind, str(of), story_id
