"""All settings, from the environment only. docs/configuration.md lists every variable."""

from pathlib import Path
from typing import Any

import dj_database_url
from django.utils.csp import CSP

from contextdash.address import data_dir
from contextdash.env import (
    env_bool,
    env_choice,
    env_days,
    env_int,
    env_list,
    env_text,
    env_window,
    secret_key,
)
from contextdash.limits import UPLOAD_AT_ONCE, WINDOW_DEFAULT, WINDOW_MAX_DAYS

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = data_dir()

SECRET_KEY = secret_key(DATA_DIR)
DEBUG = env_bool("CONTEXTDASH_DEBUG", default=False)

LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
ALLOWED_HOSTS = [*LOOPBACK_HOSTS, *env_list("CONTEXTDASH_HOSTS")]
# X-Forwarded-Host and -Proto are believed only behind a proxy that the operator named.
USE_X_FORWARDED_HOST = env_bool("CONTEXTDASH_BEHIND_PROXY", default=False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if USE_X_FORWARDED_HOST else None

INSTALLED_APPS = [
    "contextdash.apps.ContextdashConfig",
    "sessions_app.apps.SessionsConfig",
    "reviews_app.apps.ReviewsConfig",
    "backlog_app.apps.BacklogConfig",
    "contextdash.apps.OwnersAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "ninja",
]

MIDDLEWARE = [
    "contextdash.middleware.Health",
    "contextdash.middleware.OnlyThisSite",
    "contextdash.middleware.NoNul",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "contextdash.apianswers.ErrorsAsJson",
    "contextdash.middleware.Sessions",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "contextdash.middleware.SignedIn",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "contextdash.middleware.ReaderTimeZone",
    "django_htmx.middleware.HtmxMiddleware",
    "contextdash.middleware.AnswerRefusals",
]

ROOT_URLCONF = "contextdash.urls"
WSGI_APPLICATION = "contextdash.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "contextdash.pages.context.shell",
            ],
            "builtins": ["contextdash.templatetags.dash"],
        },
    }
]

# What SQLite needs beyond this (WAL and the other pragmas) is set in contextdash/db.py, in the one
# order that works.
SQLITE_WAIT_SECONDS = env_int("CONTEXTDASH_SQLITE_WAIT", 4)
# NORMAL survives a killed process, FULL loss of power as well.
SQLITE_SYNCHRONOUS = env_choice("CONTEXTDASH_SYNCHRONOUS", ("NORMAL", "FULL", "EXTRA"))


def _database() -> dict[str, Any]:
    url = env_text("DATABASE_URL")
    if url:
        return {**dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True)}
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": env_text("CONTEXTDASH_DB") or DATA_DIR / "contextdash.sqlite3",
        "CONN_MAX_AGE": 60,
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": SQLITE_WAIT_SECONDS},
    }


# Off, secrets are stored as they come.
REDACTION = env_bool("CONTEXTDASH_REDACTION", default=True)
# Payloads of events older than so many days are erased; None keeps them.
RETENTION_DAYS = env_days("RETENTION_DAYS")
# How long a review of a diff is fresh, where nobody says otherwise.
GATE_WINDOW = env_window("CONTEXTDASH_GATE_WINDOW", WINDOW_DEFAULT, most_days=WINDOW_MAX_DAYS)

DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "contextdash.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]
LOGIN_URL = "signin"
LOGIN_REDIRECT_URL = "today"
SESSION_COOKIE_NAME = "contextdash_session"
CSRF_COOKIE_NAME = "contextdash_csrf"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 90
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env_bool("CONTEXTDASH_HTTPS", default=False)
CSRF_TRUSTED_ORIGINS = env_list("CONTEXTDASH_ORIGINS")

SECURE_CSP = {
    "default-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# Agent text may be large, but only through the API, which has its own limits (contextdash/limits.py).
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000
DATA_UPLOAD_MAX_NUMBER_FILES = UPLOAD_AT_ONCE

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
# Nobody else's page has a use for our files.
WHITENOISE_ALLOW_ALL_ORIGINS = False
# Source maps of the API's own page are large and nobody fetches them: left as they are.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ("map", "png", "ico", "gz", "br", "woff2")

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
# What shows a time without saying how, such as the admin.
DATETIME_FORMAT = "Y-m-d H:i:s"
DATE_FORMAT = "Y-m-d"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    # Refused requests are the caller's to know, and their addresses may hold what nobody else should read.
    "loggers": {"contextdash": {"level": "INFO"}, "django.request": {"level": "ERROR"}},
}
