"""The project's settings with what tests need: plain static files, a fast hasher, a file-based database."""

import os
import tempfile

os.environ.setdefault("CONTEXTDASH_DATA", tempfile.mkdtemp(prefix="contextdash-tests-"))

from contextdash.settings import *  # noqa: F403
from contextdash.settings import DATA_DIR, DATABASES

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# A file, so that WAL and real threads behave as in production; in memory there is no WAL.
if "sqlite3" in DATABASES["default"]["ENGINE"]:
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}
