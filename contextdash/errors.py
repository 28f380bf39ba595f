"""What a service raises when it will not do a thing: a code, a text that says what to do, a status.

Views and the API turn these into answers; nothing below them knows HTTP beyond the number.
"""


class Refused(Exception):  # noqa: N818 - the name says what happened
    """A request that was understood and not carried out."""

    status = 400
    code = "refused"

    def __init__(
        self, detail: str, *, field: str | None = None, code: str | None = None, current: int | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.field = field
        self.current = current
        """The number that the caller's expectation was compared with, where it expected one."""
        if code is not None:
            self.code = code


class Malformed(Refused):
    """The body cannot be read at all."""

    status = 400
    code = "malformed"


class Forbidden(Refused):
    status = 403
    code = "forbidden"


class NotFound(Refused):
    status = 404
    code = "not_found"


class Conflict(Refused):
    """The same id with other content, a deleted id, or a state that does not allow the step."""

    status = 409
    code = "conflict"


class Stale(Refused):
    """The row has changed since the caller read it."""

    status = 412
    code = "stale"


class TooLarge(Refused):
    status = 413
    code = "too_large"


class UnsupportedMedia(Refused):
    status = 415
    code = "unsupported_media_type"


class Invalid(Refused):
    """A field's value is not acceptable."""

    status = 422
    code = "invalid"


class Busy(Refused):
    """The database did not take the write in time; nothing was stored, try again."""

    status = 503
    code = "busy"


class Unwritable(Busy):
    """The database cannot be written until somebody sees to it: the disk is full, the file read-only."""

    code = "unwritable"
