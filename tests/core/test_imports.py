"""The direction of imports: the core knows no app, an app only those below it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ("sessions_app", "reviews_app", "backlog_app")
SEES_ALL = ("contextdash.api", "contextdash.urls", "contextdash.pages", "contextdash.cli", "contextdash.wsgi")
SEES_ALL += ("contextdash.shortpath", "contextdash.ingest_api", "contextdash.standup_api")

FORBIDDEN = {
    "contextdash": APPS,
    "sessions_app": ("reviews_app", "backlog_app", *SEES_ALL),
    "reviews_app": ("backlog_app", *SEES_ALL),
    "backlog_app": SEES_ALL,
}


def below(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def modules() -> Iterator[tuple[str, Path]]:
    for package in FORBIDDEN:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            yield name, path


def imports(path: Path) -> Iterator[str]:
    """Every module that a file names, inside functions as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


MODULES = dict(modules())


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_is_below_it(name):
    if below(name, SEES_ALL):
        return
    forbidden = FORBIDDEN[name.partition(".")[0]]
    assert [module for module in imports(MODULES[name]) if below(module, forbidden)] == []


@pytest.mark.parametrize(
    "name", [name for name in MODULES if {"services", "queries", "models"} & set(name.split("."))]
)
def test_nothing_below_the_views_knows_a_request(name):
    known = [module for module in imports(MODULES[name]) if below(module, ("django.http", "ninja"))]
    assert [module for module in known if not module.endswith("QueryDict")] == []


@pytest.mark.parametrize("name", [name for name in MODULES if "queries" in name.split(".")])
def test_queries_never_write(name):
    assert not [m for m in imports(MODULES[name]) if below(m, ("contextdash.writer",))]


def test_the_verbs_and_the_hook_client_do_without_django():
    for name in (
        "contextdash.client",
        "contextdash.hook_client",
        "contextdash.cli.verbs",
        "contextdash.serving",
    ):
        source = ast.parse(MODULES[name].read_text(encoding="utf-8"))
        top = [node for node in source.body if isinstance(node, ast.Import | ast.ImportFrom)]
        named = [ast.unparse(node) for node in top]
        assert not [line for line in named if "django" in line], name
