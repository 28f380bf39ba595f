"""Documents of extensions, routing, logs and workspaces."""

import threading

import pytest
from django.db import connection

from contextdash import limits
from contextdash.actor import SYSTEM
from contextdash.errors import Stale
from sessions_app.models import Aggregate, LogEntry, RoutingEvent, Workspace, WorkspaceFocus
from sessions_app.queries.routing import note_of
from sessions_app.services import logs
from sessions_app.services.aggregates import Address, put_aggregate
from sessions_app.services.iterations import write_iteration
from sessions_app.services.ledger import open_run, open_turn
from sessions_app.services.workspaces import change_workspace, tell_workspace
from tests import factories

pytestmark = pytest.mark.django_db


def put(api, path: str, body: object, **headers: str):
    return api.client.put(
        f"/api/v1/{path}", body, content_type="application/json", headers={**api.headers, **headers}
    )


def test_a_document_is_swapped_only_by_who_has_read_it(api):
    at = "aggregates/ext/state/k"
    assert put(api, at, {"content": 1}, **{"If-Match": "1"}).status_code == 412
    made = put(api, at, {"content": {"n": 1}})
    assert (made.status_code, made.json()["version"]) == (201, 1)
    assert put(api, at, {"content": {"n": 1}}).status_code == 200  # the same again
    blind = put(api, at, {"content": {"n": 2}})
    assert (blind.status_code, blind.json()["error"], blind.json()["current"]) == (
        412,
        "if_match_required",
        1,
    )
    assert put(api, at, {"content": {"n": 2}}, **{"If-Match": "1"}).json()["version"] == 2
    stale = put(api, at, {"content": {"n": 3}}, **{"If-Match": "1"})
    assert (stale.status_code, stale.json()["current"]) == (412, 2)
    only_new = put(api, at, {"content": {"n": 3}}, **{"If-None-Match": "*"})
    assert (only_new.status_code, only_new.json()["error"]) == (409, "exists")
    assert api.get(at).json()["content"] == {"n": 2}
    gone = api.client.delete(f"/api/v1/{at}", headers={**api.headers, "If-Match": "1"})
    assert gone.status_code == 412
    assert api.client.delete(f"/api/v1/{at}", headers=api.headers).status_code == 204
    assert api.get(at).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_of_many_who_swap_at_once_each_step_is_one_of_theirs():
    address = Address("ext", "counter", "k")
    put_aggregate(address=address, content=0, actor=SYSTEM)
    done = []

    def count() -> None:
        try:
            while True:
                row = Aggregate.objects.get()
                try:
                    put_aggregate(
                        address=address, content=row.content + 1, expected_version=row.version, actor=SYSTEM
                    )
                except Stale:
                    continue
                return done.append(row.content + 1)
        finally:
            connection.close()

    threads = [threading.Thread(target=count) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(done) == [1, 2, 3, 4, 5, 6]
    assert Aggregate.objects.get().version == 7


def test_scopes_are_checked_and_go_with_their_session(api):
    turn, _ = open_turn(session_id="s", actor=SYSTEM)
    run, _ = open_run(turn=turn, actor=SYSTEM)
    call, _ = write_iteration(run=run, values={"model": "m"}, actor=SYSTEM)
    for scope in ("session:s", "state:s/0", f"run:{run.key}", f"iteration:{call.key}/block:b1"):
        answer = put(api, f"aggregates/ext/state/k?scope={scope}", {"content": scope}).json()
        assert (answer["session_id"], answer["scope"]) == ("s", scope)
    assert put(api, "aggregates/ext/state/k", {"content": "g"}).json()["session_id"] is None
    for scope in ("session:nobody", "state:s/9", "run:999", "iteration:999", "everywhere", "run:x"):
        assert put(api, f"aggregates/ext/state/k?scope={scope}", {"content": 1}).status_code == 422
    assert len(api.get("aggregates/ext", session="s").json()["items"]) == 4
    turn.session.delete()
    assert Aggregate.objects.count() == 1


def test_documents_are_listed_newest_update_first_and_found_by_what_their_writers_say(api):
    for number in range(3):
        index = {"command": f"make {number}", "exit": number, "deep": {"a": 1}}
        put(api, f"aggregates/shell/log/k{number}", {"content": number, "index_data": index})
    put(
        api,
        "aggregates/shell/log/k0",
        {"content": "new", "index_data": {"command": "make 0"}},
        **{"If-Match": "1"},
    )
    assert [row["key"] for row in api.get("aggregates/shell").json()["items"]] == ["k0", "k2", "k1"]
    found = api.get("aggregates/shell", index="command=make 2").json()["items"]
    assert [row["key"] for row in found] == ["k2"]
    assert [row["key"] for row in api.get("aggregates/shell", index="exit=1").json()["items"]] == ["k1"]
    assert api.get("aggregates/shell", index=["exit=1", "command=make 2"]).json()["items"] == []
    assert api.get("aggregates/shell", index="'; DROP TABLE x--=1").json()["items"] == []
    assert api.get("aggregates/shell", index="nothing").status_code == 422
    large = put(api, "aggregates/shell/log/big", {"content": "x" * limits.AGGREGATE_BYTES})
    assert (large.status_code, "AGGREGATE_BYTES" in large.json()["detail"]) == (413, True)


def test_routing_is_appended_once_and_told_in_a_line(api):
    turn, _ = open_turn(session_id="s", actor=SYSTEM)
    run, _ = open_run(turn=turn, actor=SYSTEM)
    call, _ = write_iteration(run=run, values={"model": "m"}, actor=SYSTEM)
    at = f"iterations/{call.key}/routing"
    retry = {"type": ":llm.routing/provider-retry", "reason": "rate-limit", "attempt": 1, "position": 0}
    move = {
        "type": "llm.routing/provider-fallback",
        "from_provider": "a",
        "to_provider": "b",
        "to_model": "m",
    }
    answer = api.post(at, {"events": [retry, {**move, "status": 429, "data": {"scope": "session-pick"}}]})
    assert answer.json()["note"] == "from a to b/m - 429, retried once (rate-limit), the session stays there"
    assert answer.json()["items"][0]["type"] == "llm.routing/provider-retry"
    assert api.post(at, {"events": [retry]}).status_code == 201
    assert RoutingEvent.objects.count() == 2
    assert api.post(at, {"events": [{**retry, "attempt": 2}]}).status_code == 409
    assert api.post(at, {"events": [{**retry, "position": 7}]}).status_code == 422
    assert api.post("iterations/99/routing", {"events": [retry]}).status_code == 404
    assert note_of([RoutingEvent(type="unheard/of")]) == "unheard/of"


def test_logs_are_all_or_nothing_and_found_by_level_and_session(api):
    session = factories.session("s")
    lines = [
        {"level": level, "event": f":app/{level}", "session_id": "s", "ts": 1_700_000_000 + number}
        for number, level in enumerate(("debug", "info", "warn", "error", "shout"))
    ]
    assert api.post("logs", {"lines": lines}).json() == {"written": 5}
    assert [row["level"] for row in api.get("logs", level="warn").json()["items"]] == ["error", "warn"]
    assert [row["event"] for row in api.get("logs", level="shout").json()["items"]] == ["app/shout"]
    assert len(api.get("logs", session=session.id).json()["items"]) == 5
    bad = api.post("logs", {"lines": [{"event": "fine"}, {"event": "run", "run_id": 99}]})
    assert (bad.status_code, LogEntry.objects.count()) == (422, 5)
    assert api.post("logs", {"lines": [{"event": "x"}] * (limits.LOG_LINES + 1)}).status_code == 413
    turn, _ = open_turn(session_id="t", actor=SYSTEM)
    run, _ = open_run(turn=turn, actor=SYSTEM)
    assert (
        api.post("logs", {"lines": [{"event": "x", "run_id": run.key, "session_id": "s"}]}).status_code == 422
    )
    api.post("logs", {"lines": [{"event": "of run", "run_id": run.key}]})
    assert [row["session_id"] for row in api.get("logs", run=run.key).json()["items"]] == ["t"]


def test_the_oldest_lines_of_the_log_go(monkeypatch, db):
    logs.write_logs(lines=[{"level": "info", "event": f"e{number}"} for number in range(30)], actor=SYSTEM)
    monkeypatch.setattr(logs, "LOG_ROWS", 10)
    monkeypatch.setattr(logs, "SLICE_ROWS", 15)
    assert logs.forget_logs() is True
    assert logs.forget_logs() is False
    assert set(LogEntry.objects.values_list("event", flat=True)) == {f"e{number}" for number in range(20, 30)}


def test_one_workspace_of_a_repository_is_in_focus_on_a_host(api):
    trunk = api.post("workspaces", {"root": "/srv/a", "repo": "r"}).json()
    draft = api.post(
        "workspaces", {"root": "/d/a", "repo": "r", "kind": "draft", "parent_id": trunk["id"]}
    ).json()
    other = api.post("workspaces", {"root": "/srv/a", "host": "elsewhere", "repo": "r"}).json()
    for one in (trunk, other, draft):
        assert put(api, f"workspaces/{one['id']}/focus", {}).json()["in_focus"]
    rows = api.get("workspaces", repo="r").json()["items"]
    assert [row["id"] for row in rows] == [other["id"], draft["id"], trunk["id"]]
    assert {row["id"] for row in rows if row["in_focus"]} == {draft["id"], other["id"]}
    assert WorkspaceFocus.objects.count() == 2
    nameless = api.post("workspaces", {"root": "/srv/b"}).json()
    assert put(api, f"workspaces/{nameless['id']}/focus", {}).json()["field"] == "repo"
    api.client.patch(
        f"/api/v1/workspaces/{draft['id']}",
        {"state": "discarded"},
        content_type="application/json",
        headers=api.headers,
    )
    assert put(api, f"workspaces/{draft['id']}/focus", {}).json()["error"] == "discarded"


def test_a_place_told_of_again_is_the_same_place(api):
    first = api.post("workspaces", {"root": "/srv/a", "label": "one"})
    again = api.post("workspaces", {"root": "/srv/a", "state": "discarded"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert (again.json()["id"], again.json()["label"]) == (first.json()["id"], "one")
    assert again.json()["discarded_at"] is not None
    assert api.post("workspaces", {"root": "/srv/a", "state": "active"}).json()["discarded_at"] is None
    row = Workspace.objects.get()
    below, _ = tell_workspace(root="/d/a", values={"parent": row}, actor=SYSTEM)
    with pytest.raises(Exception, match="no copy of itself"):
        change_workspace(workspace=row, values={"parent": below}, actor=SYSTEM)
