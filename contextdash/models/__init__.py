"""The nouns that every app needs: people, tokens and the history of changes."""

from contextdash.models.change import Change
from contextdash.models.receipt import Receipt
from contextdash.models.token import Token
from contextdash.models.user import SigninLink, User

__all__ = ["Change", "Receipt", "SigninLink", "Token", "User"]
