"""A post with an Idempotency-Key happens once, however often and however closely together it is sent."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from contextdash.models import Change, Receipt
from sessions_app.models import HookEvent
from tests import factories
from tests.api.nouns import BY_NAME, NOUNS
from tests.api.racing import closing, serving
from tests.api.test_docs import EXAMPLES, filled, run
from tests.claims.documented import runs_of_the_examples
from tests.conftest import Api

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


OF_THEIR_OWN = ("/ingest", "/spawns", "/continuations", "/epochs", "/hooks/", "/runs", "/events")
"""Posts whose bodies name what makes them one: an event, a claim, a line with a key."""


def test_every_post_of_the_documentation_happens_once_for_a_key(owner):
    """Answered the same the second time, with nothing written: what is added later is held to it too."""
    caller = factories.token("admin", owner)[1]
    for session in ("s-1", "old-1", "old-2"):
        Api(caller).post("sessions/ensure", session_id=session)
    runs_of_the_examples()
    other = Api(caller).post("backlog", story="Another", acceptance_criteria="- [ ] it").json()["id"]
    made: dict[str, object] = {}
    twice = []
    for at, example in enumerate(EXAMPLES):
        posts = "-X POST" in example and not any(place in example for place in OF_THEIR_OWN)
        key = f' -H "Idempotency-Key: example-{at}"' if posts else ""
        command = filled(example, caller, other, made) + key
        first = run(command)
        collection = re.search(r"/api/v1/([a-z-]+)\"", example)
        if posts and collection and first.status_code == 201:
            made[collection[1]] = first.json().get("id")
        if posts:
            rows = Change.objects.count(), HookEvent.objects.count(), Receipt.objects.count()
            again = run(command)
            same = again.content == first.content and again.status_code in (first.status_code, 200)
            after = Change.objects.count(), HookEvent.objects.count(), Receipt.objects.count()
            if first.status_code >= 300 or not same or rows != after:
                twice.append((example, first.content[:300], again.content[:300], rows, after))
    assert twice == []
    assert Receipt.objects.count() > 25


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
