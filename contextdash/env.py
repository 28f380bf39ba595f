"""Strict readers for environment variables: a value that cannot be understood stops the start."""

import os
from datetime import timedelta
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from contextdash.clock import parse_window


def env_text(name: str, default: str = "") -> str:
    """The variable's text; ``NAME_FILE`` names a file that holds it instead (for secrets)."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        return Path(path).read_text(encoding="utf-8").strip()
    return os.environ.get(name, default)


def env_bool(name: str, *, default: bool) -> bool:
    text = os.environ.get(name, "").strip().lower()
    if not text:
        return default
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} must be one of 1, true, yes, on, 0, false, no, off; it is {text!r}.")


def env_int(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number; it is {text!r}.") from None


def env_days(name: str) -> int | None:
    """A whole number of days, from 1 to 36,500; None when the variable is not set or empty."""
    if not os.environ.get(name, "").strip():
        return None
    days = env_int(name, 0)
    if not 1 <= days <= 36_500:
        raise ImproperlyConfigured(f"{name} must be from 1 to 36500 days, or not set; it is {days}.")
    return days


def env_window(name: str, default: str, *, most_days: int) -> timedelta:
    """A length of time such as ``30m``, ``2h`` or ``7d``, at most so many days."""
    text = os.environ.get(name, "").strip() or default
    window = parse_window(text)
    if window is None or not timedelta(0) < window <= timedelta(days=most_days):
        raise ImproperlyConfigured(
            f"{name} is a number with s, m, h or d, such as 2h, at most {most_days}d; it is {text!r}."
        )
    return window


def env_choice(name: str, choices: tuple[str, ...]) -> str:
    """One of the words of ``choices``, whatever its case; the first one when the variable is not set."""
    text = os.environ.get(name, "").strip().upper()
    if not text:
        return choices[0]
    if text not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}; it is {text!r}.")
    return text


def env_list(name: str) -> list[str]:
    return [part.strip() for part in os.environ.get(name, "").split(",") if part.strip()]


def secret_key(folder: Path) -> str:
    """CONTEXTDASH_SECRET_KEY, else a key made once and kept in a file that only its owner may read."""
    given = env_text("CONTEXTDASH_SECRET_KEY")
    if given:
        return given
    import secrets

    path = folder / "secret-key"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        # O_EXCL: of two first starts at once one writes and the other reads what was written.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(handle, "w", encoding="ascii") as file:
        key = secrets.token_urlsafe(48)
        file.write(key)
    return key
