from backlog_app.models.sprint import Sprint, SprintState
from backlog_app.models.story import BacklogItem, StoryStatus

__all__ = ["BacklogItem", "Sprint", "SprintState", "StoryStatus"]
