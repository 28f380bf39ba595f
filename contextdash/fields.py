"""Checks of single values that writers send; each rejection names the field and its limit."""

from contextdash.cleaning import clean
from contextdash.errors import Invalid
from contextdash.limits import NAME_CHARS, TEXT_BYTES
from contextdash.redaction import mask


def text(value: str | None, field: str, *, required: bool = True) -> str:
    """A long text: cleaned, masked, at most TEXT_BYTES."""
    if value is None or not value.strip():
        if required:
            raise Invalid(f"{field} must not be empty.", field=field)
        return value or ""
    if len(value.encode("utf-8", "surrogatepass")) > TEXT_BYTES:
        raise Invalid(f"{field} is longer than {TEXT_BYTES} bytes (TEXT_BYTES).", field=field)
    return mask(clean(value))


def optional_text(value: str | None, field: str) -> str | None:
    return None if value is None else text(value, field, required=False)


def word(value: str | None, field: str, *, chars: int = NAME_CHARS, required: bool = True) -> str:
    """A short text: cleaned, masked, trimmed, at most ``chars`` characters."""
    made = mask(clean((value or "").strip()))
    if required and not made:
        raise Invalid(f"{field} must not be empty.", field=field)
    if len(made) > chars:
        raise Invalid(f"{field} is longer than {chars} characters.", field=field)
    return made


def optional_word(value: str | None, field: str, *, chars: int = NAME_CHARS) -> str | None:
    return None if value is None else word(value, field, chars=chars, required=False)
