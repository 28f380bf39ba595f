"""The documents tell what is: every variable, every command, no dead link."""

import ast
import html
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from contextdash.cli import MODULES, parser
from contextdash.client import SESSION_VARIABLES

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
APPS = ("contextdash", "sessions_app", "reviews_app", "backlog_app")
READERS = {"env_text", "env_bool", "env_int", "env_days", "env_list", "env_choice", "env_window"}
NOT_OURS = {
    "USER",
    "USERNAME",  # who the hook client says captured a payload
    "DJANGO_SETTINGS_MODULE",
    "CONTEXTDASH_ANNOUNCE",  # from `serve` to the process that it becomes
}


def read_variables() -> Iterator[str]:
    """The name in every ``env_text("NAME")``, ``os.environ.get("NAME")`` and ``os.environ["NAME"]``."""
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                name = None
                if isinstance(node, ast.Call) and node.args:
                    called = ast.unparse(node.func)
                    if called in READERS or called == "os.environ.get":
                        name = node.args[0]
                elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
                    name = node.slice
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield name.value


def test_every_variable_is_documented_and_every_documented_one_is_read():
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", text)) - {
        "NORMAL",
        "FULL",
        "EXTRA",
        "PYTHON",
        "_FILE",
    }
    read = {*read_variables(), *SESSION_VARIABLES} - NOT_OURS
    assert read - documented == set()
    assert documented - read == set()


def test_every_command_is_in_the_documents():
    text = "".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    missing = [name for names in MODULES.values() for name in names if f"contextdash {name}" not in text]
    assert missing == []


def code(text: str) -> str:
    """What stands in fences and between backticks, a piece a line."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return "\n".join([*fenced, *re.findall(r"`([^`\n]+)`", text)])


def test_every_command_in_the_documents_exists():
    known = {name for names in MODULES.values() for name in names}
    for path in DOCUMENTS:
        for name in re.findall(
            r"(?:^|[ ]|bin/)contextdash ([a-z][a-z-]*)", code(path.read_text("utf-8")), re.MULTILINE
        ):
            assert name in known, f"{path.name}: contextdash {name}"


SHOWN = re.compile(r"""command=(['"])(contextdash .*?)\1|<code>(contextdash [^<{]*)</code>""")


def test_every_command_that_a_page_shows_is_understood():
    shown = [
        html.unescape(found[2] or found[3])
        for path in (ROOT / "templates").rglob("*.html")
        for found in SHOWN.finditer(path.read_text(encoding="utf-8"))
    ]
    assert len(shown) > 5
    for command in shown:
        words = shlex.split(command)[1:]
        assert parser(words[0]).parse_args(words), command


def test_links_between_the_documents_lead_somewhere():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
            if not target.startswith(("http://", "https://")):
                assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_every_target_of_make_is_told_by_make_or_is_a_step_of_another():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    told = re.findall(r'@echo "make (\w+)', text)
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony
    assert set(phony[1].split()) - set(told) == {"help", "chromium", "test-sqlite", "test-postgresql"}


def test_nothing_names_a_machine_or_a_registry():
    for path in ROOT.glob("requirements*.txt"):
        text = path.read_text(encoding="utf-8")
        assert "://" not in text
        assert "--find-links" not in text
        assert text.count("--hash=sha256:") > text.count("==")
