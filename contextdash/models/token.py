from django.db import models

from contextdash.models.user import User


class Scope(models.TextChoices):
    """What a token may do. ``write`` includes read and ingest, ``admin`` includes all."""

    INGEST = "ingest"
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


GRANTS: dict[str, frozenset[str]] = {
    Scope.INGEST: frozenset({Scope.INGEST}),
    Scope.READ: frozenset({Scope.READ}),
    Scope.WRITE: frozenset({Scope.WRITE, Scope.READ, Scope.INGEST}),
    Scope.ADMIN: frozenset(Scope.values),
}


class Token(models.Model):
    """A bearer token of a program, owned by a person. Only its SHA-256 is kept."""

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12, help_text="The visible beginning, to tell tokens apart.")
    digest = models.BinaryField(max_length=32, unique=True)
    scope = models.CharField(max_length=10, choices=Scope)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "tokens"
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.scope})"

    def grants(self, scope: str) -> bool:
        return scope in GRANTS.get(self.scope, frozenset())
