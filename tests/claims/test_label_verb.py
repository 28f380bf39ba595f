"""The labels of a session from a shell, against a real server."""

from typing import Any

import pytest

from contextdash.cli import main
from sessions_app.models import Session
from sessions_app.services.labels import labels_of
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


def test_labels_are_replaced_printed_and_taken_away(
    live_server: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Any
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("CONTEXTDASH_URL", live_server.url)
    monkeypatch.setenv("CONTEXTDASH_TOKEN", factories.token("write")[1])
    monkeypatch.setenv("CONTEXTDASH_SESSION_ID", "s-1")
    factories.session("s-1")
    factories.session("other")

    def run(*words: str) -> tuple[int, list[str]]:
        return main(["session-label", *words]), capsys.readouterr().out.split("\n")[:-1]

    assert run("storage", "needs a look", "--reason", "sorted") == (0, ["storage", "needs a look"])
    assert run() == (0, ["storage", "needs a look"])
    assert run("bug", "--session", "other") == (0, ["bug"])
    assert labels_of(Session.objects.get(id="s-1")) == ["storage", "needs a look"]
    assert run("--none") == (0, [])
    assert labels_of(Session.objects.get(id="s-1")) == []
    assert run("x" * 129)[0] == 1
    assert run("--session", "nobody")[0] == 1
