"""What every write endpoint does with bodies that are wrong, hostile, huge or odd."""

import gzip
import json

import pytest

from contextdash import limits
from sessions_app.models import Session
from tests.api.nouns import NOUNS, Noun

pytestmark = pytest.mark.django_db

each_noun = pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.name)


@pytest.fixture
def send(api):
    """``send(noun, b"…")``: the bytes as they are."""

    def send(noun: Noun, raw: bytes, content_type: str = "application/json", **headers: str):
        return api.client.post(
            f"/api/v1/{noun.path}",
            data=raw,
            content_type=content_type,
            headers={**api.headers, **{name.replace("_", "-"): value for name, value in headers.items()}},
        )

    return send


def body(noun: Noun, **fields) -> bytes:
    return json.dumps(noun.body | fields).encode()


def refused(answer, status: int, code: str) -> dict:
    assert answer.status_code == status, answer.content
    told = answer.json()
    assert told["error"] == code
    assert set(told) <= {"error", "detail", "field"}
    assert told["detail"]
    return told


@each_noun
def test_a_good_body_is_stored_and_answered_201(send, noun):
    answer = send(noun, body(noun))
    assert answer.status_code == 201, answer.content
    assert answer["Content-Type"].startswith("application/json")
    assert noun.model.objects.count() == 1
    assert Session.objects.get().id == "S1"


@each_noun
@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b'{"content": "\xff"}', "not UTF-8"),
        (b'{"content": ', "not JSON"),
        (b"not json at all", "not JSON"),
        (b"{} {}", "not JSON"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "JSON_DEPTH"),
        (b"[" * 10_000, "JSON_DEPTH"),
    ],
    ids=["not UTF-8", "cut", "text", "two values", "deep objects", "deep arrays"],
)
def test_what_cannot_be_read_is_400_and_stores_nothing(send, noun, raw, says):
    told = refused(send(noun, raw), 400, "malformed")
    assert says in told["detail"]
    assert noun.model.objects.count() == 0


@each_noun
@pytest.mark.parametrize("raw", [b"[]", b"1", b'"text"', b"null", b"true", b""], ids=repr)
def test_a_body_that_is_no_object_is_422(send, noun, raw):
    refused(send(noun, raw), 422, "invalid")


@each_noun
def test_nul_is_replaced_visibly(send, api, noun):
    made = send(noun, body(noun, **{noun.text: "a\0b", noun.word: "c\0d"}))
    assert made.status_code == 201, made.content
    shown = api.get(f"{noun.path}/{made.json()['id']}").json()
    assert shown[noun.text] == "a\ufffdb"
    assert shown[noun.word] == "c\ufffdd"


@each_noun
def test_half_an_emoji_becomes_a_replacement_mark(send, api, noun):
    raw = body(noun, **{noun.text: "cut @"}).replace(b"@", b"\\ud83d")
    made = send(noun, raw)
    assert made.status_code == 201, made.content
    assert api.get(f"{noun.path}/{made.json()['id']}").json()[noun.text] == "cut \ufffd"
    assert api.get(noun.path).status_code == 200


@each_noun
@pytest.mark.parametrize(
    "number", [b"NaN", b"Infinity", b"1e999", b"1" * 400], ids=["NaN", "Infinity", "1e999", "400 digits"]
)
def test_a_number_that_nothing_holds_is_text(send, noun, number):
    raw = body(noun, **{noun.word: "@"}).replace(b'"@"', number)
    made = send(noun, raw)
    # 400 digits are a word above its limit; the others are kept as the text that was sent.
    if len(number) > limits.NAME_CHARS:
        refused(made, 422, "invalid")
    else:
        assert made.status_code == 201, made.content
        assert number.decode() in json.dumps(made.json())


@each_noun
def test_of_duplicate_keys_the_last_wins(send, noun):
    raw = b'{"' + noun.text.encode() + b'": "first", ' + body(noun, **{noun.text: "last"})[1:]
    made = send(noun, raw)
    assert made.status_code == 201
    assert made.json()[noun.text] == "last"


@each_noun
def test_a_text_above_its_limit_is_422_and_names_the_limit(send, noun):
    told = refused(send(noun, body(noun, **{noun.text: "x" * (limits.TEXT_BYTES + 1)})), 422, "invalid")
    assert told["field"] == noun.text
    assert "TEXT_BYTES" in told["detail"]
    assert noun.model.objects.count() == 0


@each_noun
def test_a_word_above_its_limit_is_422(send, noun):
    told = refused(send(noun, body(noun, **{noun.word: "x" * (limits.NAME_CHARS + 1)})), 422, "invalid")
    assert told["field"] == noun.word


@each_noun
def test_a_body_above_its_limit_is_413_and_names_the_limit(send, noun):
    told = refused(send(noun, b'"' + b"x" * limits.BODY_BYTES + b'"'), 413, "too_large")
    assert "BODY_BYTES" in told["detail"]


@each_noun
def test_a_gzipped_body_is_read(send, noun):
    made = send(noun, gzip.compress(body(noun)), Content_Encoding="gzip")
    assert made.status_code == 201, made.content


@each_noun
def test_a_gzip_bomb_is_413_and_never_unpacked_whole(send, noun):
    bomb = gzip.compress(b" " * (limits.DECOMPRESSED_BYTES * 4))
    told = refused(send(noun, bomb, Content_Encoding="gzip"), 413, "too_large")
    assert "DECOMPRESSED_BYTES" in told["detail"]


@each_noun
@pytest.mark.parametrize(
    ("raw", "encoding", "status"),
    [(b"no gzip", "gzip", 400), (gzip.compress(b"{}", mtime=0)[:-4], "gzip", 400), (b"{}", "br", 415)],
    ids=["no gzip", "cut gzip", "brotli"],
)
def test_another_encoding_is_refused(send, noun, raw, encoding, status):
    assert send(noun, raw, Content_Encoding=encoding).status_code == status


@each_noun
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "application/x-ndjson",
    ],
)
def test_another_media_type_is_415_and_stores_nothing(send, noun, content_type):
    refused(send(noun, body(noun), content_type), 415, "unsupported_media_type")
    assert noun.model.objects.count() == 0


@each_noun
@pytest.mark.parametrize("wrong", [[], {}, True, {"a": [1]}], ids=repr)
def test_a_wrong_type_is_422_and_names_the_field(send, noun, wrong):
    told = refused(send(noun, body(noun, **{noun.word: wrong})), 422, "invalid")
    assert told["field"] == noun.word


@each_noun
def test_a_missing_field_is_422_and_named(send, noun):
    required = next(name for name in reversed(noun.body) if name not in ("session_id", "acceptance_criteria"))
    if noun.name in ("decision",):
        required = "choice"
    left = {name: value for name, value in noun.body.items() if name != required}
    answer = send(noun, json.dumps(left).encode())
    if noun.name == "message":  # an empty message is one
        assert answer.status_code == 201
    else:
        assert refused(answer, 422, "invalid")["field"] == required


@each_noun
def test_an_unknown_field_is_422_and_named(send, noun):
    assert refused(send(noun, body(noun, colour="red")), 422, "invalid")["field"] == "colour"


@pytest.mark.parametrize("noun", [noun for noun in NOUNS if noun.open_word], ids=lambda noun: noun.name)
def test_a_word_outside_the_vocabulary_is_kept_as_sent(send, noun):
    made = send(noun, body(noun, **{noun.open_word: "something-else"}))
    assert made.status_code == 201, made.content
    assert made.json()[noun.open_word] == "something-else"


@each_noun
def test_markup_is_stored_as_it_was_said(send, noun):
    markup = "<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1))"
    made = send(noun, body(noun, **{noun.text: markup, noun.word: "<b>bold</b>"}))
    assert made.json()[noun.text] == markup
    assert made["X-Content-Type-Options"] == "nosniff"


@each_noun
def test_a_secret_is_masked_before_it_is_stored(send, noun):
    made = send(noun, body(noun, **{noun.text: "postgres://app:hunter22@db/app"}))
    assert made.json()[noun.text] == "postgres://app:[masked: url-password]@db/app"


@each_noun
@pytest.mark.parametrize("ts", ["next Tuesday", "", "2099-01-01T00:00:00Z", "2026-13-45", 1e300, -5])
def test_an_odd_time_pins_no_list_and_breaks_nothing(send, api, noun, ts):
    made = send(noun, body(noun, ts=ts))
    if made.status_code == 201:
        assert not made.json()["ts"].startswith("2099")
    else:
        assert refused(made, 422, "invalid")["field"] == "ts"
    assert api.get(noun.path).status_code == 200


@each_noun
def test_a_blank_session_id_is_none_or_refused(send, noun):
    made = send(noun, body(noun, session_id="  "))
    if noun.name == "hook-event":
        assert made.json()["session_id"] is None
    else:
        assert refused(made, 422, "invalid")["field"] == "session_id"


@each_noun
def test_a_session_id_of_any_length_and_alphabet_is_kept_by_digest(send, noun):
    made = send(noun, body(noun, session_id="../../" + "ü" * 10_000))
    assert made.status_code == 201, made.content
    assert len(made.json()["session_id"]) == 32


@each_noun
@pytest.mark.parametrize("row_id", ["0", "9" * 19, "9" * 400, "-1", "x", "1.5", "1%20OR%201=1"])
def test_an_id_that_is_none_is_404(api, noun, row_id):
    refused(api.get(f"{noun.path}/{row_id}"), 404, "not_found")


@each_noun
@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"},
        {"limit": "101"},
        {"limit": "x"},
        {"cursor": "x"},
        {"cursor": "1.2.3"},
        {"cursor": "9" * 50 + ".1"},
        {"cursor": "-1.5"},
        {"cursor": "١.١"},
    ],
    ids=str,
)
def test_an_odd_page_is_422(api, noun, query):
    refused(api.get(noun.path, **query), 422, "invalid")


@each_noun
@pytest.mark.parametrize(
    "value", ["'", "%", "x" * 5000, "a\ud83d".encode("utf-8", "replace").decode(), "latest"]
)
def test_odd_filters_find_nothing_and_break_nothing(api, noun, value):
    for name in ("session", "agent", "project"):
        answer = api.get(noun.path, **{name: value})
        assert answer.status_code in (200, 422), answer.content


@each_noun
def test_a_list_is_paged_without_loss_or_repetition(send, api, noun):
    for number in range(5):
        fields = {"path": f"plans/{number}.plan.md"} if noun.name == "plan" else {}
        assert send(noun, body(noun, **fields)).status_code == 201
    seen, cursor = [], None
    for _ in range(4):
        answer = api.get(noun.path, limit=2, **({"cursor": cursor} if cursor else {})).json()
        seen += [row["id"] for row in answer["items"]]
        cursor = answer["next"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 5
