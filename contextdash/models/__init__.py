"""The nouns that every app needs: people, tokens, the history of changes, what runs in the background."""

from contextdash.models.background import BackgroundRun, Lease, MaskedCount
from contextdash.models.change import Change
from contextdash.models.receipt import Receipt
from contextdash.models.token import Token
from contextdash.models.user import SigninLink, User

__all__ = ["BackgroundRun", "Change", "Lease", "MaskedCount", "Receipt", "SigninLink", "Token", "User"]
