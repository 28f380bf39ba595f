"""Stories: write, read, change, move, claim, tick, comment, link."""

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Field, Query, Router, Status

from backlog_app import words
from backlog_app.api.outs import (
    comment_out,
    criterion_out,
    link_out,
    listed_stories,
    placed,
    whole_out,
)
from backlog_app.models import BacklogItem, Criterion, Dependency, StoryComment, StoryLink
from backlog_app.queries import stories as queries
from backlog_app.queries.filters import Filters
from backlog_app.queries.sprints import wip_limits
from backlog_app.services import checklist, moving, relations, stories
from backlog_app.services.sprints import set_limit
from contextdash.actor import Actor
from contextdash.apikit import Body, Key, Paging, PatchBody, allow, if_match, once
from contextdash.models.token import Scope
from sessions_app.services.belonging import told_time

router = Router(tags=["backlog"])

type Priority = int | float | str
STORY = "/{int:story_id}"


class StoryBody(Body):
    story: str
    acceptance_criteria: str = ""
    status: str | None = Field(None, description="todo, in_progress, review, blocked, done; others are kept.")
    assigned_agent: str | None = None
    priority: Priority | None = Field(None, description="1 high to 5 low; 3 when it is not told.")
    estimate: int | None = Field(None, description="Points.")
    labels: list[str] = []
    sprint_id: Key | None = None
    epic_id: int | None = None
    session_id: str | None = None
    project: str | None = Field(None, description="A project's slug; else the session's project.")
    ts: str | int | float | None = None


class StoryPatch(PatchBody):
    story: str | None = None
    acceptance_criteria: str | None = None
    status: str | None = None
    assigned_agent: str | None = None
    priority: Priority | None = None
    estimate: int | None = None
    labels: list[str] | None = None
    sprint_id: Key | None = None
    epic_id: int | None = None
    session_id: str | None = None
    project: str | None = None


class StoryFilters(Paging):
    session: str = ""
    agent: str = Field("", description="Who it is assigned to; - for nobody.")
    project: str = ""
    status: str = Field("", description="A column, or other.")
    priority: str = ""
    sprint: str = Field("", description="A sprint's number, current or none.")
    label: str = ""
    epic: str = ""
    text: str = ""
    sort: Literal["newest", "board"] = "newest"


class MoveBody(Body):
    """Right after one story or right before another; neither means the end of the column."""

    status: str | None = None
    after: int | None = None
    before: int | None = None
    version: int | None = Field(None, description="The version that was seen; or If-Match.")
    reason: str = ""


class ClaimBody(Body):
    agent: str
    session_id: str | None = Field(None, description="The session that works on it; it is linked.")
    project: str | None = None
    sprint_id: Key | None = None
    label: str | None = None


class TickBody(Body):
    met: bool = True
    agent: str | None = None
    reason: str = ""


class CommentBody(Body):
    body: str
    agent: str | None = None


class LinkBody(Body):
    kind: str = Field(description="session, decision, finding, plan or diff.")
    ref: str = Field(description="A session's id, a number, or a diff's SHA-256.")


class DependencyBody(Body):
    blocked_by: int
    reason: str = ""


class LimitBody(Body):
    stories: int | None = Field(description="At most so many; null for no limit.")
    project: str | None = Field(None, description="A project's slug; without it of all.")
    reason: str = ""


def create_story(actor: Actor, payload: StoryBody) -> BacklogItem:
    values = payload.model_dump(exclude={"ts"}) | {"ts": told_time(payload.ts)}
    return stories.add_story(actor=actor, **values)


@router.post("", response={201: dict[str, Any]}, summary="Write a story down")
def create(request: HttpRequest, payload: StoryBody) -> Status[dict[str, Any]]:
    actor = allow(request, Scope.WRITE)
    made = once(request, actor, BacklogItem, lambda: create_story(actor, payload))
    return Status(201, placed(made))


@router.get("", response=dict[str, Any], summary="Stories, newest first or as on the board")
def index(request: HttpRequest, query: Query[StoryFilters]) -> dict[str, Any]:
    allow(request, Scope.READ)
    values = query.model_dump(exclude={"session", "sort", "limit", "cursor"})
    find = queries.in_order if query.sort == "board" else queries.newest
    found = find(Filters(**values), session=query.session, limit=query.limit, cursor=query.cursor)
    return listed_stories(found)


@router.get("/limits", response=dict[str, Any], summary="How many stories each column should hold")
def limits(request: HttpRequest, project: str = "") -> dict[str, Any]:
    """Of a project, or without one those of all; a column without a limit is null."""
    allow(request, Scope.READ)
    return {
        "items": [{"column": name, "stories": most} for name, most in wip_limits(project).items()],
        "next": None,
    }


@router.put("/limits/{column}", response=dict[str, Any], summary="Limit a column")
def limit(request: HttpRequest, column: str, payload: LimitBody) -> dict[str, Any]:
    """It warns on the board and refuses no move; null takes the limit away."""
    actor = allow(request, Scope.WRITE)
    set_limit(
        status=column,
        stories=payload.stories,
        project=payload.project or None,
        actor=actor,
        reason=payload.reason,
    )
    return {"column": words.status(column), "stories": payload.stories}


@router.post("/claim", response=dict[str, Any], summary="Take the next ready story")
def claim(request: HttpRequest, payload: ClaimBody) -> dict[str, Any]:
    """Two callers never get the same one. 404 ``nothing_ready`` says why there is none; a repeated
    Idempotency-Key gets the story that it got before."""
    actor = allow(request, Scope.WRITE)
    claimed = once(
        request, actor, BacklogItem, lambda: moving.claim_next(actor=actor, **payload.model_dump())
    )
    return placed(claimed)


@router.get(STORY, response=dict[str, Any], summary="One story with criteria, links, rules and history")
def one(request: HttpRequest, story_id: int) -> dict[str, Any]:
    allow(request, Scope.READ)
    return whole_out(queries.whole(queries.one(story_id)))


@router.patch(STORY, response=dict[str, Any], summary="Change a story")
def change(request: HttpRequest, story_id: int, payload: StoryPatch) -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    changed = stories.change_story(
        story_id=story_id,
        values=payload.values(),
        actor=actor,
        reason=payload.reason,
        expected_version=if_match(request),
    )
    return placed(changed)


@router.delete(STORY, response=dict[str, Any], summary="Take a story off the board")
def delete(request: HttpRequest, story_id: int, reason: str = "") -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    gone = stories.delete_story(
        story_id=story_id, actor=actor, reason=reason, expected_version=if_match(request)
    )
    return placed(gone)


@router.post(STORY + "/restore", response=dict[str, Any], summary="Bring a deleted story back")
def restore(request: HttpRequest, story_id: int, reason: str = "") -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    back = once(
        request,
        actor,
        BacklogItem,
        lambda: stories.restore_story(story_id=story_id, actor=actor, reason=reason),
    )
    return placed(back)


@router.post(STORY + "/move", response=dict[str, Any], summary="Move a story")
def move(request: HttpRequest, story_id: int, payload: MoveBody) -> dict[str, Any]:
    """412 when the story has changed since ``version``, or the neighbour left the column."""
    actor = allow(request, Scope.WRITE)
    seen = payload.version if payload.version is not None else if_match(request)

    def act() -> BacklogItem:
        return moving.move_story(
            story_id=story_id,
            to_status=payload.status,
            after_id=payload.after,
            before_id=payload.before,
            expected_version=seen,
            actor=actor,
            reason=payload.reason,
        )

    return placed(once(request, actor, BacklogItem, act))


@router.post(STORY + "/criteria/{int:criterion_id}", response=dict[str, Any], summary="Tick a criterion")
def tick(request: HttpRequest, story_id: int, criterion_id: int, payload: TickBody) -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    ticked = once(
        request,
        actor,
        Criterion,
        lambda: checklist.tick_criterion(
            story_id=story_id, criterion_id=criterion_id, actor=actor, **payload.model_dump()
        ),
    )
    return criterion_out(ticked)


@router.post(STORY + "/comments", response={201: dict[str, Any]}, summary="Comment on a story")
def comment(request: HttpRequest, story_id: int, payload: CommentBody) -> Status[dict[str, Any]]:
    actor = allow(request, Scope.WRITE)
    made = once(
        request,
        actor,
        StoryComment,
        lambda: relations.comment_on(story_id=story_id, body=payload.body, agent=payload.agent, actor=actor),
    )
    return Status(201, comment_out(made))


@router.post(STORY + "/links", response={201: dict[str, Any]}, summary="Link a story to something")
def link(request: HttpRequest, story_id: int, payload: LinkBody) -> Status[dict[str, Any]]:
    actor = allow(request, Scope.WRITE)
    made = once(
        request,
        actor,
        StoryLink,
        lambda: relations.link_story(story_id=story_id, kind=payload.kind, ref=payload.ref, actor=actor),
    )
    return Status(201, link_out(made))


@router.delete(STORY + "/links/{int:link_id}", response={204: None}, summary="Take a link away")
def unlink(request: HttpRequest, story_id: int, link_id: int, reason: str = "") -> Status[None]:
    actor = allow(request, Scope.WRITE)
    relations.unlink_story(story_id=story_id, link_id=link_id, actor=actor, reason=reason)
    return Status(204, None)


@router.post(STORY + "/dependencies", response={201: dict[str, Any]}, summary="Wait for another story")
def depend(request: HttpRequest, story_id: int, payload: DependencyBody) -> Status[dict[str, Any]]:
    """409 where the other waits for this one already."""
    actor = allow(request, Scope.WRITE)
    once(
        request,
        actor,
        Dependency,
        lambda: relations.add_dependency(
            story_id=story_id, blocked_by_id=payload.blocked_by, actor=actor, reason=payload.reason
        ),
    )
    return Status(201, {"id": story_id, "blocked_by": payload.blocked_by})


@router.delete(STORY + "/dependencies/{int:other_id}", response={204: None}, summary="Wait no longer")
def independ(request: HttpRequest, story_id: int, other_id: int, reason: str = "") -> Status[None]:
    actor = allow(request, Scope.WRITE)
    relations.remove_dependency(story_id=story_id, blocked_by_id=other_id, actor=actor, reason=reason)
    return Status(204, None)
