"""A post with an Idempotency-Key happens once, however often and however closely together it is sent."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from contextdash.models import Receipt
from tests.api.nouns import BY_NAME, NOUNS
from tests.api.racing import closing, serving

pytestmark = pytest.mark.django_db

each_noun = pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.name)


@each_noun
def test_a_repeated_key_gets_the_same_row(api, noun):
    first = api.post(noun.path, noun.body, headers={"Idempotency-Key": "k1"})
    again = api.post(noun.path, noun.body, headers={"Idempotency-Key": "k1"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["id"] == again.json()["id"]
    assert noun.model.objects.count() == 1


@each_noun
def test_a_key_that_was_used_for_another_body_is_a_conflict(api, noun):
    api.post(noun.path, noun.body, headers={"Idempotency-Key": "k1"})
    other = api.post(noun.path, noun.body | {noun.word: "another"}, headers={"Idempotency-Key": "k1"})
    assert other.status_code == 409
    assert noun.model.objects.count() == 1


@each_noun
def test_a_refused_post_uses_up_no_key(api, noun):
    bad = api.post(noun.path, noun.body | {noun.word: "x" * 500}, headers={"Idempotency-Key": "k1"})
    assert bad.status_code == 422
    good = api.post(noun.path, noun.body, headers={"Idempotency-Key": "k1"})
    assert good.status_code == 201
    assert Receipt.objects.count() == 1


def test_a_key_belongs_to_its_token_and_address(api, make_api):
    message = BY_NAME["message"]
    for caller in (api, make_api("write")):
        assert caller.post("messages", message.body, headers={"Idempotency-Key": "k1"}).status_code == 201
    decision = BY_NAME["decision"]
    assert api.post("decisions", decision.body, headers={"Idempotency-Key": "k1"}).status_code == 201
    assert message.model.objects.count() == 2


def test_ensure_and_close_can_be_repeated_with_a_key(api):
    first = api.post("sessions/ensure", headers={"Idempotency-Key": "k1"})
    again = api.post("sessions/ensure", headers={"Idempotency-Key": "k1"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    path = f"sessions/{first.json()['id']}/close"
    ends = [api.post(path, headers={"Idempotency-Key": "k2"}).json()["ended_at"] for _ in range(2)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("key", ["x" * 100_000, "ü".encode().decode("latin-1"), " ", "'; DROP TABLE"])
def test_an_odd_key_is_a_key(api, key):
    for _ in range(2):
        answer = api.post("messages", BY_NAME["message"].body, headers={"Idempotency-Key": key})
        assert answer.status_code == 201
    assert BY_NAME["message"].model.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@each_noun
def test_eight_at_once_with_one_key_store_one_row(api, noun):
    def send(_: int) -> tuple[int, int]:
        with closing(connection):
            answer = api.post(noun.path, noun.body, headers={"Idempotency-Key": "k1"})
            return answer.status_code, answer.json().get("id")

    with serving(), ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(send, range(8)))
    assert len(answers) == 1, answers
    assert noun.model.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_eight_at_once_that_name_an_unknown_session_make_one(api):
    def send(number: int) -> int:
        with closing(connection):
            return int(api.post("messages", BY_NAME["message"].body).status_code)

    with serving(), ThreadPoolExecutor(8) as pool:
        assert set(pool.map(send, range(8))) == {201}
    session = api.get("sessions").json()["items"]
    assert [row["counts"]["messages"] for row in session] == [8]
