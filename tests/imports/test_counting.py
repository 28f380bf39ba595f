"""What a response costs is counted once, dated by its beginning, and priced by its own rates."""

from decimal import Decimal
from pathlib import Path

import pytest
from django.db import transaction

from contextdash import clock
from sessions_app.importers.files import Place, import_file
from sessions_app.models import (
    ImportSource,
    Iteration,
    PriceOverride,
    Quarantined,
    Session,
    Tombstone,
    ToolCall,
    UsageBucket,
)
from sessions_app.pricing import PriceBook, Usage
from sessions_app.services import usage
from tests.imports.lines import SESSION, calls, prompt, response, result, says, write

pytestmark = pytest.mark.django_db

HERE = Place(host="desk")
AT_US = 1_796_000_000_000_000


def take(path: Path) -> None:
    import_file(path, place=HERE)


def test_one_answer_in_several_lines_is_counted_once_and_shown_whole(tmp_path: Path) -> None:
    told = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 2241,
        "cache_read_input_tokens": 113_676,
        "output_tokens": 2495,
    }
    at = "2026-11-20T10:00:01Z"
    take(
        write(
            tmp_path,
            prompt("Go.", "2026-11-20T10:00:00Z"),
            response("msg_1", at, {"type": "thinking", "thinking": "Hm."}, **told),
            response("msg_1", at, says("I list the files."), **told),
            response("msg_1", at, calls("toolu_1", command="ls"), **told),
        )
    )
    row = Iteration.objects.get()
    assert (row.input_tokens, row.cache_write_5m_tokens) == (1, 2241)
    assert (row.cache_read_tokens, row.output_tokens) == (113_676, 2495)
    assert (row.thinking, row.prose, row.call_ids) == ("Hm.", "I list the files.", ["toolu_1"])
    assert Session.objects.get(id=SESSION).output_tokens == 2495


@pytest.mark.parametrize("apart", [False, True])
def test_the_later_copy_of_a_streamed_answer_completes_the_first(tmp_path: Path, *, apart: bool) -> None:
    path = write(
        tmp_path,
        prompt("Go.", "2026-11-20T23:59:50Z"),
        response("msg_2", "2026-11-20T23:59:59Z", says("I"), output_tokens=1, input_tokens=4),
    )
    if apart:
        take(path)
    write(
        tmp_path,
        response(
            "msg_2",
            "2026-11-21T00:00:03Z",
            says("I look twice."),
            calls("toolu_1", command="ls"),
            calls("toolu_2", command="pwd"),
            output_tokens=480,
            input_tokens=4,
        ),
    )
    take(path)
    row = Iteration.objects.get()
    assert (row.output_tokens, row.prose, row.call_ids) == (480, "I look twice.", ["toolu_1", "toolu_2"])
    assert row.at_us == 1_795_219_199_000_000
    bucket = UsageBucket.objects.get(requests__gt=0)
    assert (bucket.requests, bucket.output_tokens) == (1, 480)
    assert bucket.start_us == 1_795_218_300_000_000
    assert ToolCall.objects.count() == 2


def test_one_hour_cache_writes_have_their_own_price() -> None:
    book = PriceBook()
    base = book.price(Usage(input=1_000_000), model="claude-opus-5", provider="anthropic", at_us=AT_US)
    short = book.price(
        Usage(cache_write_5m=1_000_000), model="claude-opus-5", provider="anthropic", at_us=AT_US
    )
    long = book.price(
        Usage(cache_write_1h=1_000_000), model="claude-opus-5", provider="anthropic", at_us=AT_US
    )
    assert base.micro
    assert short.micro
    assert long.micro
    assert short.micro == base.micro * 5 // 4
    assert long.micro == base.micro * 2
    assert base.by.startswith("genai-prices ")


def test_a_plain_total_of_cache_writes_says_what_was_assumed(tmp_path: Path) -> None:
    told = {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 500}
    take(
        write(
            tmp_path,
            prompt("Go.", "2026-11-20T10:00:00Z"),
            response("m", "2026-11-20T10:00:01Z", says("x"), **told),
        )
    )
    assert Iteration.objects.get().assumed == "5-minute cache writes"


def test_an_unknown_model_has_no_price_rather_than_none_at_all(tmp_path: Path) -> None:
    take(
        write(
            tmp_path,
            prompt("Go.", "2026-11-20T10:00:00Z"),
            response(
                "m", "2026-11-20T10:00:01Z", says("x"), model="my-own-llm", input_tokens=5, output_tokens=6
            ),
        )
    )
    assert Iteration.objects.get().cost_micro is None
    session = Session.objects.get(id=SESSION)
    assert (session.cost_micro, session.unpriced_count, session.iteration_count) == (None, 1, 1)


def test_an_own_price_reprices_what_is_there(tmp_path: Path) -> None:
    take(
        write(
            tmp_path,
            prompt("Go.", "2026-11-20T10:00:00Z"),
            response(
                "m",
                "2026-11-20T10:00:01Z",
                says("x"),
                model="my-own-llm",
                input_tokens=1000,
                output_tokens=100,
            ),
        )
    )
    PriceOverride.objects.create(model="my-own-llm", input_price=Decimal("2"), output_price=Decimal("10"))
    assert usage.reprice("my-own-llm") == 1
    assert usage.reprice("my-own-llm") == 0
    session = Session.objects.get(id=SESSION)
    assert (session.cost_micro, session.unpriced_count) == (3000, 0)
    bucket = UsageBucket.objects.get()
    assert (bucket.cost_micro, bucket.unpriced) == (3000, 0)


def test_long_context_tiers_hold_for_each_call() -> None:
    book = PriceBook()
    model = {"model": "claude-sonnet-4-5-20250929", "provider": "anthropic", "at_us": AT_US}
    small = book.price(Usage(input=100_000), **model).micro
    large = book.price(Usage(input=300_000), **model).micro
    assert small
    assert large
    assert large == small * 6


def test_hostile_lines_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "[1, 2]",
        '"text"',
        "{broken",
        "",
        '{"type": 7, "sessionId": [1]}',
        '{"type": "user", "message": 5, "timestamp": {}, "uuid": 3}',
        '{"type": "assistant", "message": {"content": [7, {"type": "tool_use", "id": 9}], "usage": []}}',
        prompt("NUL \x00 and \ud83c here", "2026-11-20T10:00:00Z"),
        response(
            "m", "2099-01-01T00:00:00Z", calls("toolu_1", command="ls"), input_tokens=-5, output_tokens=2**70
        ),
        result("toolu_1", "x" * 3_000_000, "2026-11-20T10:00:02Z"),
    )
    take(path)
    source = ImportSource.objects.get()
    assert (source.skipped, source.blank, source.lines) == (3, 1, 10)
    assert Quarantined.objects.count() == 3
    session = Session.objects.get(id=SESSION)
    assert session.call_count == 2
    assert session.user_request == "NUL \ufffd and \ufffd here"
    assert session.last_us < 4_000_000_000_000_000


def test_secrets_are_masked_before_they_are_stored(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 10
    take(
        write(
            tmp_path,
            prompt(f"Use {secret}.", "2026-11-20T10:00:00Z"),
            response(
                "m", "2026-11-20T10:00:01Z", says(f"With {secret}"), calls("t", command=f"curl {secret}")
            ),
        )
    )
    row = Iteration.objects.get()
    assert secret not in row.prose
    assert secret not in ToolCall.objects.get().summary
    assert secret not in (Session.objects.get(id=SESSION).user_request or "")


def test_a_deleted_session_is_not_brought_back(tmp_path: Path) -> None:
    Tombstone.objects.create(session_id=SESSION, deleted_at=clock.now())
    told = response("m", "2026-11-20T10:00:01Z", says("x"), output_tokens=3)
    take(write(tmp_path, prompt("Go.", "2026-11-20T10:00:00Z"), told))
    assert not Session.objects.exists()
    assert not Iteration.objects.exists()
    assert not UsageBucket.objects.exists()
    assert ImportSource.objects.get().error == f"Session {SESSION} was deleted; its id is not used again."


def test_a_failed_part_leaves_nothing_half_stored(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        prompt("Go.", "2026-11-20T10:00:00Z"),
        response("m", "2026-11-20T10:00:01Z", says("x"), output_tokens=3),
    )
    with transaction.atomic():
        take(path)
        transaction.set_rollback(True)
    assert not ImportSource.objects.exists()
    take(path)
    assert Session.objects.get(id=SESSION).output_tokens == 3
