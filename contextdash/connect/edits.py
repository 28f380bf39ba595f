"""Changes to other programs' files: shown first, backed up, written whole, refused where not safe."""

import difflib
import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class CannotEdit(Exception):  # noqa: N818 - the name says what happened
    """A file that must not be touched, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One file as it is and as it shall be; None where there is none."""

    path: Path
    old: str | None
    new: str | None

    @property
    def changes(self) -> bool:
        return self.old != self.new

    def diff(self) -> str:
        lines = difflib.unified_diff(
            (self.old or "").splitlines(keepends=True),
            (self.new or "").splitlines(keepends=True),
            str(self.path) if self.old is not None else "/dev/null",
            str(self.path) if self.new is not None else "/dev/null",
        )
        return "".join(line if line.endswith("\n") else line + "\n" for line in lines)

    def apply(self) -> Path | None:
        """Write it; the answer is where the former content was saved, if there was any."""
        backup = self._back_up() if self.old is not None else None
        if self.new is None:
            self.path.unlink(missing_ok=True)
            return backup
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A link stays a link: people keep their settings in a repository of dotfiles.
        target = self.path.resolve()
        beside = target.with_name(f"{target.name}.{os.getpid()}.tmp")
        beside.write_text(self.new, encoding="utf-8")
        if self.old is not None:
            shutil.copymode(target, beside)
        os.replace(beside, target)
        return backup

    def _back_up(self) -> Path:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        backup = self.path.with_name(f"{self.path.name}.before-contextdash-{stamp}")
        shutil.copy2(self.path, backup)
        return backup


def read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CannotEdit(f"{path} cannot be read ({error}). Nothing was changed.") from error


def read_json(path: Path) -> tuple[str | None, dict[str, Any]]:
    """The file's text and the object in it; an absent or empty file is an empty object."""
    text = read(path)
    if text is None or not text.strip():
        return text, {}
    try:
        found = json.loads(text)
    except ValueError as error:
        raise CannotEdit(
            f"{path} is not plain JSON ({error}). Mend it, or take out its comments, and run this again."
        ) from error
    if not isinstance(found, dict):
        raise CannotEdit(f"{path} does not hold a JSON object. Nothing was changed.")
    return text, found


def json_edit(path: Path, old: str | None, value: dict[str, Any]) -> Edit:
    """The edit that writes ``value``; where nothing of it is left, the file goes only if it was not there."""
    if not value and old is None:
        return Edit(path, None, None)
    return Edit(path, old, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def is_tracked(path: Path) -> bool:
    """Whether git has the file under version control, so that what is written may be published."""
    folder = path.parent
    while not folder.is_dir():
        folder = folder.parent
    done = subprocess.run(  # noqa: S603
        ["git", "-C", str(folder), "ls-files", "--error-unmatch", "--", str(path)],  # noqa: S607
        capture_output=True,
        check=False,
    )
    return done.returncode == 0
