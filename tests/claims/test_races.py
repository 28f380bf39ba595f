"""Several claimers at the same moment, in real threads: one acquires, the others are told of it."""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from sessions_app.ledger.digests import stream_key
from sessions_app.models import ContinuationClaim, Session, SubagentSpawn, WorkspaceEpoch
from sessions_app.queries.partials import partials_of
from tests.api.racing import closing, serving
from tests.claims.test_continuations import body, sealed, start
from tests.claims.test_epochs import EPOCH
from tests.claims.test_partials import piece, put
from tests.claims.test_spawns import WORK
from tests.ledger.telling import run

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 8
THREADS = 4


def at_once(call: Callable[[Any], Any], told: Sequence[Any]) -> list[tuple[int, dict[str, Any]]]:
    def one(what: Any) -> tuple[int, dict[str, Any]]:
        with closing(connection):
            answer = call(what)
            return answer.status_code, answer.json()

    with serving(), ThreadPoolExecutor(len(told)) as pool:
        return list(pool.map(one, told))


def test_of_claimers_of_one_boundary_exactly_one_acquires(api):
    for number in range(ROUNDS):
        source = sealed(f"run-{number}", session=f"s-{number}")
        told = [body(source, 10 * number + one, source_run_id=source.run_id) for one in range(THREADS)]
        answers = at_once(lambda what: api.post("continuations", what), told)
        assert sorted(status for status, _ in answers) == [200] * (THREADS - 1) + [201], answers
        assert len({answer["claim_id"] for _, answer in answers}) == 1
    assert ContinuationClaim.objects.count() == ROUNDS


def test_one_target_is_claimed_once_whatever_the_source(api):
    for number in range(ROUNDS):
        sources = [sealed(f"run-{number}-{one}", session=f"s-{number}") for one in range(2)]
        told = [{**body(source, number), "claim_id": f"c-{number}-{n}"} for n, source in enumerate(sources)]
        answers = at_once(lambda what: api.post("continuations", what), told)
        assert sorted(status for status, _ in answers) == [201, 409], answers


def test_a_continuation_is_started_by_one_event(api):
    for number in range(ROUNDS):
        claim = api.post("continuations", body(sealed(f"run-{number}"), number)).json()
        told = [start(claim, f"start-{number}-{one}") for one in range(THREADS)]
        path = f"continuations/{claim['claim_id']}/start"
        answers = at_once(lambda event, path=path: api.post(path, event=event), told)
        assert Counter(status for status, _ in answers) == {201: 1, 409: THREADS - 1}, answers


@pytest.mark.parametrize("same", [True, False], ids=["the same work", "different work"])
def test_of_spawns_at_one_place_the_first_decides(api, same):
    for number in range(ROUNDS):
        told = [
            {
                **WORK,
                "item_id": str(number),
                "request_fingerprint": "same" if same else f"work-{one}",
                "child_session_id": f"child-{number}-{one}",
            }
            for one in range(THREADS)
        ]
        answers = at_once(lambda what: api.post("spawns", what), told)
        others = 200 if same else 409
        assert Counter(status for status, _ in answers) == {201: 1, others: THREADS - 1}, answers
    assert SubagentSpawn.objects.count() == ROUNDS
    assert Session.objects.get(id="s-1").child_count == ROUNDS
    assert Session.objects.filter(parent__id="s-1").count() == ROUNDS


def test_an_epoch_that_is_opened_twice_at_once_is_one(api):
    for number in range(ROUNDS):
        told = {
            name: value.replace("_1", f"_{number}x") for name, value in EPOCH.items() if "_1" in str(value)
        }
        answers = at_once(lambda what: api.post("epochs", what), [{**EPOCH, **told}] * THREADS)
        assert sorted(status for status, _ in answers) == [200] * (THREADS - 1) + [201], answers
    assert WorkspaceEpoch.objects.count() == ROUNDS


def test_pieces_that_come_at_once_are_all_kept(api):
    of = run()
    key = stream_key(piece(of, ""))
    told = [f"<{number}>" for number in range(THREADS * ROUNDS)]
    for begin in range(0, len(told), THREADS):
        answers = at_once(lambda text: put(api, key, [piece(of, text)]), told[begin : begin + THREADS])
        assert [status for status, _ in answers] == [201] * THREADS
    (found,) = partials_of(of)
    assert sorted(found.text.replace("><", "> <").split()) == sorted(told)


def test_of_two_archivers_with_one_version_the_second_is_told_or_finds_it_done(api):
    for number in range(ROUNDS):
        made = api.post("sessions/ensure", session_id=f"S{number}").json()
        seen = [{"id": made["id"], "metadata_version": made["metadata_version"]}]
        answers = at_once(lambda what: api.post("sessions/archive", sessions=what), [seen, seen])
        assert 200 in [status for status, _ in answers]
        assert {status for status, _ in answers} <= {200, 412}
        assert api.get(f"sessions/{made['id']}").json()["metadata_version"] == 2
