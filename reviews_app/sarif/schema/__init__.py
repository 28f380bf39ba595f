"""The schema of SARIF 2.1.0 that OASIS publishes (errata 01), as a check of whole logs."""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from contextdash.errors import Invalid

FILE = Path(__file__).with_name("sarif-schema-2.1.0.json")
ERROR_CHARS = 500

_PLACE = re.compile(r"data((?:\.[\w$-]+|\[\d+\])*) (.*)", re.DOTALL)


def check(log: Any) -> None:
    """
    Raises:
        Invalid: the log is not as the schema says; the detail ends with the path of the first error.
    """
    from fastjsonschema import JsonSchemaException

    try:
        _checker()(log)
    except JsonSchemaException as error:
        found = _PLACE.fullmatch(str(error))
        path, what = (found[1], found[2]) if found else ("", str(error))
        raise Invalid(
            f"This is no SARIF 2.1.0. It {what[:ERROR_CHARS]} - at `${path[:ERROR_CHARS]}`", field="sarif"
        ) from None


@cache
def _checker() -> Callable[[Any], Any]:
    """Compiled when the first log comes, which takes half a second and 20 MB."""
    import fastjsonschema

    # Without the details an error still names its path, and the code is a fifth as large.
    compiled: Callable[[Any], Any] = fastjsonschema.compile(
        json.loads(FILE.read_bytes()), use_default=False, detailed_exceptions=False
    )
    return compiled
