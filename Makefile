# `make serve` and `make test` are all that is needed; the rest is what they are made of.
HOST ?= 127.0.0.1
PORT ?= 8765
export HOST PORT

BIN := .venv/bin
PYTEST := $(BIN)/pytest -q -n 2

.PHONY: help serve install test test-sqlite test-postgresql check format bench chromium lock
.DEFAULT_GOAL := help

help:
	@echo "make serve    run contextdash on http://$(HOST):$(PORT)"
	@echo "make install  only prepare: .venv/bin/contextdash exists afterwards"
	@echo "make test     all tests, on SQLite and on PostgreSQL"
	@echo "make check    format, lint, types, templates, migrations, direction of imports"
	@echo "make format   put Python and templates into form"
	@echo "make bench    the speed figures of docs/architecture.md"
	@echo "make lock     resolve the requirements files anew (needs uv)"

serve:
	@scripts/bootstrap runtime
	@exec $(BIN)/contextdash serve

install:
	@scripts/bootstrap runtime

test: test-sqlite test-postgresql

# Static files first: several tests start real servers, which would all wait for the first to collect them.
test-sqlite: chromium
	@scripts/bootstrap dev
	@$(BIN)/python -c "from contextdash.cli.serve import collect_if_changed as go; go()"
	$(PYTEST)

test-postgresql:
	@scripts/bootstrap dev
	$(PYTEST) --database=postgresql -m "not sqlite and not browser"

check:
	@scripts/bootstrap dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	git ls-files 'templates/*.html' | xargs $(BIN)/djade --check --target-version 6.1
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check
	$(BIN)/pytest -q tests/core/test_imports.py

format:
	@scripts/bootstrap dev
	$(BIN)/ruff check --fix-only -q .
	$(BIN)/ruff format .
	git ls-files 'templates/*.html' | xargs $(BIN)/djade --target-version 6.1

bench:
	@scripts/bootstrap dev
	$(BIN)/python -m tests.benchmarks

# The browser tests drive Debian's Chromium; elsewhere one that is installed, or they are skipped.
chromium:
	@scripts/chromium

# No index addresses may get into the files: hashes say what is meant wherever it comes from.
LOCK = $$(command -v .venv/bin/uv || command -v uv) pip compile -q pyproject.toml --universal \
	--python-version 3.12 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links
lock:
	$(LOCK) --group build -o requirements.txt
	$(LOCK) --group build --extra postgres --extra granian -c requirements.txt -o requirements-extra.txt
	$(LOCK) --group dev -c requirements-extra.txt -o requirements-dev.txt
