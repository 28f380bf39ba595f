"""JSON that writers send along: masked, within a named limit."""

import json
from typing import Any

from contextdash.errors import TooLarge
from contextdash.redaction import mask
from sessions_app.ingest.observing import each_text


def document(value: Any, field: str, *, most: int, name: str) -> Any:
    """The value with its secrets masked.

    Raises:
        TooLarge: as JSON it is longer than ``most`` bytes, the limit called ``name``.
    """
    if value is None:
        return None
    if len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) > most:
        raise TooLarge(f"{field} is longer than {most} bytes ({name}).", field=field)
    return each_text(value, mask)
