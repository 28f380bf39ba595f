"""Ids and digests as claims carry them."""

import re

from contextdash.errors import Invalid
from contextdash.limits import CLAIM_ID_CHARS

_VISIBLE = re.compile(r"[\x21-\x7e]+")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def claim_id(value: object, field: str, *, required: bool = True) -> str:
    """An id of a run, turn, call, event or workspace: visible ASCII.

    Raises:
        Invalid: it is none, longer than CLAIM_ID_CHARS, or missing where it is required.
    """
    if value in (None, "") and not required:
        return ""
    if not isinstance(value, str) or not _VISIBLE.fullmatch(value):
        raise Invalid(f"{field} must be an id: visible ASCII characters, no spaces.", field=field)
    if len(value) > CLAIM_ID_CHARS:
        raise Invalid(f"{field} is longer than {CLAIM_ID_CHARS} characters (CLAIM_ID_CHARS).", field=field)
    return value


def digest(value: object, field: str, *, required: bool = True) -> str:
    """``sha256:`` and 64 hex digits.

    Raises:
        Invalid: it is not.
    """
    if value in (None, "") and not required:
        return ""
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise Invalid(f"{field} must be sha256: and 64 hex digits.", field=field)
    return value
