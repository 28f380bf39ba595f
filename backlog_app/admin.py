from typing import Any

from django.contrib import admin

from backlog_app.models import (
    BacklogItem,
    BoardClock,
    Criterion,
    Dependency,
    Sprint,
    SprintState,
    StoryComment,
    StoryLink,
    StoryStatus,
    StoryStep,
    WipLimit,
)
from backlog_app.services.sprints import change_sprint
from backlog_app.services.stories import change_story
from contextdash.adminkit import Corrections, ReadOnly, head, words


@admin.register(BacklogItem)
class StoryAdmin(Corrections):
    list_display = ("id", head("story"), "status", "assigned_agent", "priority", "sprint", "changed_at")
    list_filter = (words("status", StoryStatus), "priority")
    list_select_related = ("sprint",)
    search_fields = ("story", "assigned_agent", "=session__id")
    heads = ("story", "acceptance_criteria")
    correctable = (
        "story",
        "acceptance_criteria",
        "status",
        "assigned_agent",
        "priority",
        "estimate",
        "labels",
    )

    def correct(self, row: BacklogItem, values: dict[str, Any], **told: Any) -> None:
        change_story(story_id=row.pk, values=values, **told)


@admin.register(Sprint)
class SprintAdmin(Corrections):
    list_display = ("id", "name", "project", "state", "starts_on", "ends_on")
    list_filter = (words("state", SprintState),)
    list_select_related = ("project",)
    search_fields = ("name", "goal")
    correctable = ("name", "goal", "starts_on", "ends_on")

    def correct(self, row: Sprint, values: dict[str, Any], **told: Any) -> None:
        change_sprint(sprint_id=row.pk, values=values, **told)


@admin.register(Criterion)
class CriterionAdmin(ReadOnly):
    list_display = ("story_id", "position", head("text"), "met_at", "met_by")
    search_fields = ("=story__id", "text")
    heads = ("text",)


@admin.register(StoryStep)
class StoryStepAdmin(ReadOnly):
    list_display = ("story_id", "at", "status", "sprint_id", "estimate", "deleted")
    list_filter = (words("status", StoryStatus),)
    search_fields = ("=story__id",)
    ordering = ("-id",)


@admin.register(StoryLink)
class StoryLinkAdmin(ReadOnly):
    list_display = ("story_id", "kind", "ref", "created_at")
    search_fields = ("=story__id", "ref")
    ordering = ("-id",)


@admin.register(Dependency)
class DependencyAdmin(ReadOnly):
    list_display = ("story_id", "blocked_by_id")
    search_fields = ("=story__id", "=blocked_by__id")
    ordering = ("-id",)


@admin.register(StoryComment)
class StoryCommentAdmin(ReadOnly):
    list_display = ("story_id", "author", head("body"), "ts")
    search_fields = ("=story__id", "author")
    ordering = ("-id",)
    heads = ("body",)


@admin.register(WipLimit)
class WipLimitAdmin(ReadOnly):
    list_display = ("project", "status", "stories")
    list_select_related = ("project",)
    ordering = ("id",)


@admin.register(BoardClock)
class BoardClockAdmin(ReadOnly):
    list_display = ("id", "version")
    ordering = ("id",)
