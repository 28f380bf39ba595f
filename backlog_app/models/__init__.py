from backlog_app.models.board import BoardClock, StoryStep, WipLimit
from backlog_app.models.relation import Dependency, LinkKind, StoryComment, StoryLink
from backlog_app.models.sprint import Sprint, SprintState
from backlog_app.models.story import BacklogItem, Criterion, StoryStatus

__all__ = [
    "BacklogItem",
    "BoardClock",
    "Criterion",
    "Dependency",
    "LinkKind",
    "Sprint",
    "SprintState",
    "StoryComment",
    "StoryLink",
    "StoryStatus",
    "StoryStep",
    "WipLimit",
]
