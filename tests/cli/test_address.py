"""Commands find the server of this machine wherever it was told to listen."""

import json

import pytest

from contextdash import address
from contextdash.cli.kit import own_url
from contextdash.client import Client
from contextdash.hook_client import DEFAULT_URL

LEFT = "http://127.0.0.1:8791"


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch, tmp_path):
    for name in ("CONTEXTDASH_URL", "HOST", "PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CONTEXTDASH_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_without_a_word_from_anybody_it_is_the_default():
    assert own_url() == Client().url == DEFAULT_URL


def test_what_the_server_left_is_found_by_commands_and_client():
    address.leave(LEFT)
    assert own_url() == Client().url == LEFT


def test_what_is_told_counts_more_than_what_was_left(monkeypatch, tmp_path):
    address.leave(LEFT)
    monkeypatch.setenv("PORT", "8800")
    assert own_url() == "http://127.0.0.1:8800"
    assert Client().url == LEFT, "an agent's shell has its own PORT"
    config = tmp_path / "contextdash" / "client.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"url": "http://dash.example.org"}))
    assert Client().url == "http://dash.example.org"
    monkeypatch.setenv("CONTEXTDASH_URL", "http://192.0.2.7:1")
    assert own_url() == Client().url == "http://192.0.2.7:1"


@pytest.mark.parametrize("left", [b"", b"\xff\xfe", b"gopher://there"])
def test_a_file_that_is_no_address_is_passed_over(left, tmp_path):
    (tmp_path / "address").write_bytes(left)
    assert own_url() == DEFAULT_URL
