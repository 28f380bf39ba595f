"""Several connections store at once, as several server processes do on PostgreSQL."""

import threading
from collections import Counter

import pytest
from django.db import connection

from sessions_app.ingest.observation import Outcome
from sessions_app.models import Event, HookBucket, Project, Session, ToolCall
from tests.sessions.deliveries import body, deliver, seen, tool

pytestmark = pytest.mark.django_db(transaction=True)


def test_connections_that_see_the_same_for_the_first_time_agree() -> None:
    outcomes: list[Outcome] = []
    failures: list[Exception] = []
    start = threading.Barrier(4)
    agent = {"agent_id": "a1", "agent_type": "Explore", "prompt_id": "t1"}

    def work(own: int) -> None:
        try:
            start.wait(10)
            for shared in range(6):
                # The same for all, and one's own; both of one session, one turn and one subagent.
                batch = [
                    seen(tool("PreToolUse", f"shared{shared}", prompt_id="t1")),
                    seen(tool("PostToolUse", f"shared{shared}", prompt_id="t1")),
                    seen(tool("PostToolUse", f"own{own}-{shared}", **agent)),
                    seen(body("SessionStart", f"other{shared}"), delivery_id=f"d{shared}"),
                ]
                outcomes.extend(deliver(*batch))
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(own,)) for own in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert Counter(outcomes) == {Outcome.ACCEPTED: 12 + 24 + 6, Outcome.DUPLICATE: 3 * 18}
    main, child = Session.objects.get(id="s1"), Session.objects.get(agent_id="a1")
    assert (main.call_count, main.turn_count, main.event_count, main.child_count) == (6, 1, 12, 1)
    assert (child.call_count, child.turn_count, child.event_count) == (24, 1, 24)
    assert ToolCall.objects.filter(state="done").count() == 30
    assert Event.objects.count() == 42
    assert Session.objects.count() == 8
    assert Project.objects.count() == 1
    buckets = HookBucket.objects.all()
    assert sum(bucket.accepted for bucket in buckets) == 42
    assert sum(bucket.duplicate for bucket in buckets) == 54
