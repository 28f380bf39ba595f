"""Mistakes: ``POST mistakes`` records, ``GET`` reads many or one, ``PATCH`` changes with a reason."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema

from contextdash.actor import Actor
from contextdash.apikit import Body, Paging, PatchBody, allow, if_match, listed, once
from contextdash.clock import iso
from contextdash.limits import READ_RECENT_CHARS
from contextdash.models.token import Scope
from sessions_app.models import Mistake
from sessions_app.queries import mistakes as queries
from sessions_app.queries.lessons import lesson
from sessions_app.queries.sessions_api import session_id_of
from sessions_app.queries.texts import text_or_start
from sessions_app.services.belonging import project_of_slug, told_time
from sessions_app.services.mistakes import change_mistake, log_mistake

router = Router(tags=["mistakes"])


class MistakeIn(Body):
    agent_name: str
    summary: str
    category: str = "other"
    """build, test, review, dispatch, source-gen, publish, hook, schema, other; another is kept as sent."""
    root_cause: str | None = None
    fix: str | None = None
    lesson_file: str | None = None
    lesson_md: str | None = None
    """The lesson itself; without a ``lesson_file`` it gets one."""
    session_id: str | None = None
    project: str | None = None
    """A project's slug; without it the session's project."""
    ts: str | int | float | None = None


class MistakePatch(PatchBody):
    agent_name: str | None = None
    category: str | None = None
    summary: str | None = None
    root_cause: str | None = None
    fix: str | None = None
    lesson_file: str | None = None
    lesson_md: str | None = None


class MistakeFilters(Paging):
    session: str | None = None
    agent: str | None = None
    project: str | None = None
    category: str | None = None
    cause: str | None = None
    """A ``cause_key``: mistakes that came from the same normalised cause."""
    without_lesson: bool = False


class MistakeOut(Schema):
    id: int
    session_id: str | None
    project: str | None
    agent_name: str
    category: str
    summary: str
    root_cause: str | None
    fix: str | None
    lesson_file: str | None
    lesson_md: str | None
    cause_key: str
    ts: str
    version: int


class MistakeList(Schema):
    items: list[MistakeOut]
    next: str | None


def out(mistake: Mistake) -> dict[str, Any]:
    return {
        "id": mistake.pk,
        "session_id": mistake.session_id,
        "project": mistake.project.slug if mistake.project else None,
        "agent_name": mistake.agent_name,
        "category": mistake.category,
        "summary": text_or_start(mistake, "summary", READ_RECENT_CHARS),
        "root_cause": text_or_start(mistake, "root_cause", READ_RECENT_CHARS),
        "fix": text_or_start(mistake, "fix", READ_RECENT_CHARS),
        "lesson_file": mistake.lesson_file,
        "lesson_md": text_or_start(mistake, "lesson_md", READ_RECENT_CHARS),
        "cause_key": mistake.cause_key,
        "ts": iso(mistake.ts),
        "version": mistake.version,
    }


def create_mistake(actor: Actor, payload: MistakeIn) -> Mistake:
    return log_mistake(
        session=payload.session_id,
        project=project_of_slug(payload.project),
        agent_name=payload.agent_name,
        category=payload.category,
        summary=payload.summary,
        root_cause=payload.root_cause,
        fix=payload.fix,
        lesson_file=payload.lesson_file,
        lesson_md=payload.lesson_md,
        at=told_time(payload.ts),
        actor=actor,
    )


@router.post("", response={201: MistakeOut}, summary="Record a mistake")
def create(request: HttpRequest, payload: MistakeIn) -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    mistake = once(request, actor, Mistake, lambda: create_mistake(actor, payload))
    return out(mistake)


@router.get("", response=MistakeList, summary="Mistakes, newest first")
def many(request: HttpRequest, filters: Query[MistakeFilters]) -> dict[str, Any]:
    """Long texts are cut after 10,000 characters and then end with an ellipsis."""
    allow(request, Scope.READ)
    wanted = queries.Filters(
        session=session_id_of(filters.session),
        agent=filters.agent,
        project=filters.project,
        category=filters.category,
        cause=filters.cause,
        without_lesson=filters.without_lesson,
    )
    found = queries.mistake_list(wanted, limit=filters.limit, cursor=filters.cursor, chars=READ_RECENT_CHARS)
    return listed(found, out)


@router.get("/{int:mistake_id}", response=MistakeOut, summary="One mistake")
def one(request: HttpRequest, mistake_id: int) -> dict[str, Any]:
    allow(request, Scope.READ)
    return out(queries.mistake_of(mistake_id))


@router.get("/{int:mistake_id}/lesson", summary="A mistake's lesson as a Markdown file")
def lesson_file(request: HttpRequest, mistake_id: int) -> HttpResponse:
    allow(request, Scope.READ)
    return HttpResponse(lesson(queries.mistake_of(mistake_id)), content_type="text/markdown; charset=utf-8")


@router.patch("/{int:mistake_id}", response=MistakeOut, summary="Change a mistake")
def change(request: HttpRequest, mistake_id: int, payload: MistakePatch) -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    mistake = change_mistake(
        mistake=queries.mistake_of(mistake_id),
        values=payload.values(),
        actor=actor,
        reason=payload.reason,
        expected_version=if_match(request),
    )
    return out(mistake)
