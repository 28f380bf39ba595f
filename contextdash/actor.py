"""Who does a thing: a person in the browser, a program with a person's token, or the system itself."""

from dataclasses import dataclass

from contextdash.models import Token, User


@dataclass(frozen=True, slots=True)
class Actor:
    user: User | None = None
    token: Token | None = None

    @property
    def name(self) -> str:
        """How the history names them."""
        if self.token is not None:
            return self.token.name
        return self.user.get_username() if self.user is not None else "contextdash"


SYSTEM = Actor()
"""The server itself: hook-driven moves, retention, commands run beside the server."""
