"""What a story is tied to: other stories, what agents did and wrote, what people say about it."""

from django.db import models
from django.db.models import F, Q

from backlog_app.models.story import BacklogItem
from contextdash.limits import NAME_CHARS


class LinkKind(models.TextChoices):
    SESSION = "session"
    DECISION = "decision"
    FINDING = "finding"
    PLAN = "plan"
    DIFF = "diff"


class StoryLink(models.Model):
    """A story's tie to a session, decision, finding, plan or diff hash, by the id that people know.

    ``ref`` is no foreign key: a link may name what has not arrived yet, and stays when that goes.
    """

    story = models.ForeignKey(BacklogItem, on_delete=models.DB_CASCADE, related_name="links")
    kind = models.CharField(max_length=20, choices=LinkKind)
    ref = models.CharField(max_length=NAME_CHARS)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "story_links"
        ordering = ["kind", "id"]
        constraints = [
            models.UniqueConstraint(fields=["story", "kind", "ref"], name="one_link_per_story_and_thing")
        ]
        # The stories of a session, a diff, a finding.
        indexes = [models.Index(fields=["kind", "ref"], name="links_to_thing")]

    def __str__(self) -> str:
        return f"{self.kind} {self.ref}"


class Dependency(models.Model):
    """``story`` cannot begin before ``blocked_by`` is done."""

    story = models.ForeignKey(BacklogItem, on_delete=models.DB_CASCADE, related_name="dependencies")
    blocked_by = models.ForeignKey(BacklogItem, on_delete=models.DB_CASCADE, related_name="blocks")

    class Meta:
        db_table = "story_dependencies"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["story", "blocked_by"], name="one_dependency_per_pair"),
            models.CheckConstraint(condition=~Q(story=F("blocked_by")), name="no_story_blocks_itself"),
        ]
        verbose_name_plural = "dependencies"

    def __str__(self) -> str:
        return f"{self.story_id} waits for {self.blocked_by_id}"


class StoryComment(models.Model):
    story = models.ForeignKey(BacklogItem, on_delete=models.DB_CASCADE, related_name="comments")
    author = models.CharField(max_length=NAME_CHARS, help_text="An agent's or a person's name.")
    body = models.TextField()
    ts = models.DateTimeField()

    class Meta:
        db_table = "story_comments"
        ordering = ["ts", "id"]
        indexes = [models.Index(fields=["story", "ts", "id"], name="comments_of_story")]

    def __str__(self) -> str:
        return f"{self.author}: {self.body[:60]}"
