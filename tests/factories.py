"""Rows with sensible defaults; a test names only what it is about."""

from itertools import count
from typing import Any

from contextdash import clock
from contextdash.actor import SYSTEM
from contextdash.models import Token, User
from contextdash.models.user import Role
from contextdash.services.tokens import create_token
from sessions_app.models import Project, Session
from sessions_app.services.sessions import create_session

_number = count(1)


def user(role: str = Role.MEMBER, **values: Any) -> User:
    n = next(_number)
    made = User(username=values.pop("username", f"person{n}"), role=role, **values)
    made.is_staff = made.is_superuser = role == Role.OWNER
    made.set_unusable_password()
    made.save()
    return made


def token(scope: str = "write", owner: User | None = None) -> tuple[Token, str]:
    return create_token(owner=owner or user(), name=f"token for {scope}", scope=scope, actor=SYSTEM)


def project(name: str = "Ledgerline", **values: Any) -> Project:
    values.setdefault("slug", name.lower().replace(" ", "-"))
    return Project.objects.create(name=name, created_at=clock.now(), **values)


def session(session_id: str | None = None, **values: Any) -> Session:
    """Times may be given as ``at_us``; the rest are columns."""
    at_us = values.pop("at_us", None)
    made = create_session(session_id=session_id or f"session-{next(_number)}", actor=SYSTEM)
    if at_us is not None:
        values |= {"started_us": at_us, "last_us": at_us, "started_at": clock.from_us(at_us)}
    for name, value in values.items():
        setattr(made, name, value)
    if values:
        made.save(update_fields=list(values))
    return made
