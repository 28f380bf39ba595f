from django.contrib.auth.models import AbstractUser
from django.db import models


class Role(models.TextChoices):
    OWNER = "owner"  # manages people, tokens, retention and purge
    MEMBER = "member"  # acts on everything else
    VIEWER = "viewer"  # changes nothing


class Theme(models.TextChoices):
    SYSTEM = "system", "as the system"
    LIGHT = "light"
    DARK = "dark"


class User(AbstractUser):
    """A person. A password is optional: links printed by the server or an owner sign people in."""

    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    time_zone = models.CharField(
        max_length=64, blank=True, default="", help_text="An IANA name; empty means the browser's."
    )
    theme = models.CharField(max_length=10, choices=Theme, default=Theme.SYSTEM)

    class Meta:
        db_table = "users"
        ordering = ["username"]

    @property
    def may_write(self) -> bool:
        return self.role != Role.VIEWER

    @property
    def is_owner(self) -> bool:
        return self.role == Role.OWNER


class SigninLink(models.Model):
    """A link that signs one person in, once. Only its SHA-256 is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="signin_links")
    digest = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "signin_links"

    def __str__(self) -> str:
        return f"link for {self.user_id}, until {self.expires_at:%Y-%m-%d %H:%M}"
