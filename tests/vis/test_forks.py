"""Versions, copies and further attempts, and what writers tell of a run."""

import threading

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextdash.actor import SYSTEM
from contextdash.errors import Conflict, Invalid
from sessions_app.models import (
    CopiedUsage,
    Iteration,
    Project,
    Run,
    RunDetail,
    Session,
    SessionState,
    ToolCall,
    Turn,
    UsageBucket,
)
from sessions_app.queries import chains
from sessions_app.queries.sessions import SessionFilter, session_page
from sessions_app.services.copies import fork_through
from sessions_app.services.forks import fork_session, forked_title
from sessions_app.services.iterations import write_iteration
from sessions_app.services.ledger import open_run, open_turn
from sessions_app.services.retries import retry_turn
from sessions_app.services.run_details import tell_run
from sessions_app.services.sessions import ensure_session
from sessions_app.services.usage import recount, reprice
from sessions_app.services.warm import claim_session, warm_up
from sessions_app.vocabulary import CallState
from tests import factories
from tests.conftest import Api

pytestmark = pytest.mark.django_db


def told(session: str = "s", turn: str = "t", cost: int | None = 500) -> tuple[Turn, Run, Iteration]:
    made, _ = open_turn(session_id=session, turn_id=turn, prompt=f"do {turn}", actor=SYSTEM)
    run, _ = open_run(turn=made, actor=SYSTEM)
    return made, run, call(run, f"r-{turn}", cost)


def call(run: Run, response: str, cost: int | None = 500) -> Iteration:
    values = {"model": "own-model", "input_tokens": 10, "output_tokens": 3, "cost_micro": cost}
    return write_iteration(
        run=run, values={**values, "response_id": response}, call_ids=["c1"], actor=SYSTEM
    )[0]


@pytest.mark.parametrize(
    ("title", "forked"),
    [
        ("", ""),
        ("A chart", "A chart (fork)"),
        ("A chart (fork)", "A chart (fork 2)"),
        ("A chart (fork 9)", "A chart (fork 10)"),
        ("x" * 500, "x" * 492 + "… (fork)"),
    ],
)
def test_a_fork_is_named_after_what_it_was_forked_from(title, forked):
    assert forked_title(title) == forked
    assert len(forked) <= 500


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=10))
def test_a_version_reads_as_its_ancestors_and_itself_whatever_was_forked_from_what(db, steps):
    """None asks a turn; a number forks from one of the versions."""
    with transaction.atomic():
        session = factories.session("s")
        chain_of: dict[int, list[str]] = {0: []}
        for number, step in enumerate(steps):
            newest = max(chain_of)
            if step is None:
                open_turn(session_id="s", turn_id=f"t{number}", actor=SYSTEM)
                chain_of[newest].append(f"t{number}")
            else:
                above = step % (newest + 1)
                fork_session(session=session, parent_version=above, actor=SYSTEM)
                chain_of[newest + 1] = [*chain_of[above]]
        states = list(SessionState.objects.filter(session=session).order_by("version"))
        for version in chain_of:
            own = {turn.turn_id for state in chains.chain_of(states, version) for turn in state.turns.all()}
            shown = [turn.turn_id for turn in chains.turns_of(chains.chain_of(states, version))]
            assert set(shown) == own
            # A version that is forked from early on sees what its ancestors were asked later as well.
            assert [one for one in shown if one in chain_of[version]] == chain_of[version]
        transaction.set_rollback(True)


def test_a_circle_of_versions_ends(db):
    session = factories.session("s")
    one = fork_session(session=session, actor=SYSTEM)
    SessionState.objects.filter(session=session, version=0).update(parent=one)
    states = list(SessionState.objects.filter(session=session).order_by("version"))
    assert [state.version for state in chains.chain_of(states)] == [0, 1]


def test_a_version_takes_over_what_is_not_told_and_leaves_the_one_before_its_title(api):
    api.post("sessions/ensure", session_id="s", title="A chart")
    told("s", "t1")
    api.post("sessions/s/fork", {"system_prompt": "Be brief.", "provider": "p", "model": "m"})
    answer = api.post("sessions/s/fork", {"title": "The second idea"}).json()
    assert [one["title"] for one in answer["versions"]] == ["A chart", "A chart (fork)", "The second idea"]
    assert [one["system_prompt"] for one in answer["versions"]] == ["", "Be brief.", "Be brief."]
    assert answer["versions"][2]["model"] == "m"
    assert answer["chain"] == [0, 1, 2]
    assert [one["turns"] for one in answer["versions"]] == [1, 0, 0]
    open_turn(session_id="s", turn_id="t2", actor=SYSTEM)
    assert Turn.objects.get(turn_id="t2").state.version == 2
    assert Session.objects.get(id="s").title == "The second idea"
    assert api.post("sessions/s/fork", {"parent_version": 9}).json()["field"] == "parent_version"
    stale = api.post("sessions/s/fork", {}, headers={"If-Match": "1"})
    assert stale.status_code == 412


def test_a_copy_stands_alone_and_is_counted_in_no_sum(db):
    project = factories.project()
    session = factories.session("s", project=project, client="vis", agent_name="main")
    turn, run, _ = told("s", "t1", cost=500)
    ToolCall.objects.create(
        session=session,
        run=run,
        call_id="c1",
        name="Bash",
        state=CallState.PREPARED,
        started_us=run.started_us,
    )
    later, _, _ = told("s", "t2", cost=None)
    retry_turn(turn=turn, actor=SYSTEM)
    second = Run.objects.get(turn=turn, number=2)
    call(second, "again", 700)
    told("s", "t3")
    before = list(UsageBucket.objects.values().order_by("id")), Session.objects.get(id="s").cost_micro
    copy = fork_through(session=session, turn_key=later.key, session_id="copy", actor=SYSTEM)
    assert (
        list(UsageBucket.objects.values().order_by("id")),
        Session.objects.get(id="s").cost_micro,
    ) == before
    assert [turn.prompt for turn in copy.turns.order_by("number")] == ["do t1", "do t2"]
    assert (copy.forked_from_id, copy.turn_count, copy.iteration_count) == (session.key, 2, 0)
    assert (copy.cost_micro, copy.input_tokens, copy.project) == (None, 0, project)
    apart = CopiedUsage.objects.get(session=copy)
    # Of the first turn only the newest attempt was copied; the call of the second has no price.
    assert (apart.iteration_count, apart.unpriced_count, apart.cost_micro) == (2, 1, 700)
    assert set(copy.runs.values_list("number", "status")) == {(1, "interrupted")}
    assert copy.calls.count() == 0  # it was a call of the attempt before
    assert list(copy.iterations.values_list("copied", flat=True)) == [True, True]
    # Whatever is counted anew later leaves copies out.
    Session.objects.filter(key=copy.key).update(agent_name="renamed")
    recount(session_keys=[copy.key, session.key])
    reprice("own-model")
    assert list(UsageBucket.objects.values().order_by("id")) == before[0]
    # And the copy goes on by itself.
    _, _, own = told("copy", "t9", cost=40)
    copy.refresh_from_db()
    assert (copy.iteration_count, copy.cost_micro, own.copied) == (1, 40, False)
    with pytest.raises(Conflict):
        fork_through(session=session, turn_key=later.key, session_id="copy", actor=SYSTEM)


def test_calls_and_details_are_copied_so_that_the_transcript_reads(page, member):
    session = factories.session("s")
    turn, run, _ = told("s", "t1")
    ToolCall.objects.create(
        session=session, run=run, call_id="c1", name="Bash", summary="make test", state="done", started_us=1
    )
    tell_run(run=run, values={"content": [{"type": "prose", "markdown": "All **green**."}]}, actor=SYSTEM)
    copy = fork_through(session=session, turn_key=turn.key, actor=SYSTEM)
    shown = page.get(f"/sessions/{copy.id}/transcript/").content.decode()
    assert "do t1" in shown
    assert "make test" in shown
    assert "<strong>green</strong>" in shown
    facts = page.get(f"/sessions/{copy.id}/").content.decode()
    assert "Forked from" in facts
    assert "<dt>Copied</dt>" in facts


def test_a_retry_is_a_further_run_that_what_comes_later_belongs_to(api):
    turn, run, _ = told("s", "t1")
    ToolCall.objects.create(
        session=turn.session, run=run, call_id="c9", name="Bash", state=CallState.PREPARED, started_us=1
    )
    answer = api.post(f"turns/{turn.key}/retry", {"model": "m"}).json()
    assert (answer["number"], answer["status"], answer["ledger"]) == (2, "running", True)
    details = api.get(f"runs/{answer['id']}/details").json()
    assert (details["retried_from"], details["model"]) == (run.key, "m")
    run.refresh_from_db()
    assert run.status == "interrupted"
    assert ToolCall.objects.get().state == "interrupted"
    empty, _ = open_turn(session_id="s", turn_id="t2", actor=SYSTEM)
    assert api.post(f"turns/{empty.key}/retry", {}).status_code == 422


def test_hooks_go_on_in_the_newest_attempt(api, deliver):
    deliver("UserPromptSubmit", prompt_id="p1", prompt="Do it")
    turn = Turn.objects.get()
    made = retry_turn(turn=turn, actor=SYSTEM)
    assert not made.ledger
    deliver("PreToolUse", prompt_id="p1", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="u1")
    assert ToolCall.objects.get().run == made


BLOCKS = [
    {"id": "1", "type": "prose", "markdown": "Hello."},
    {"id": "2", "type": "reasoning", "text": "a private thought"},
    {"id": "3", "type": "reasoning", "text": "a shown thought", "visibility": "visible"},
    {"id": "4", "type": "hologram", "light": [1, 2]},
    "not even an object",
]


def test_private_reasoning_is_for_who_owns_the_session(api, owner, member, page):
    _, run, _ = told("s", "t1")
    Session.objects.filter(id="s").update(owner=owner)
    sent = {"content": BLOCKS, "ctx": {"k": 1}, "error": {"message": "It broke", "code": 7}}
    answer = api.client.patch(
        f"/api/v1/runs/{run.key}/details", sent, content_type="application/json", headers=api.headers
    ).json()
    assert answer["content"][1] == {"id": "2", "type": "reasoning", "hidden": True}
    assert answer["content"][2:] == BLOCKS[2:]
    assert (answer["ctx"], answer["error"]["code"]) == ({"k": 1}, 7)
    run.refresh_from_db()
    assert (run.answer, run.error) == ("Hello.", "It broke")
    assert "private thought" not in page.get("/sessions/s/transcript/").content.decode()
    own = Api(factories.token("read", owner)[1])
    assert own.get(f"runs/{run.key}/details", private="true").json()["content"] == BLOCKS
    others = Api(factories.token("admin", member)[1])
    assert others.get(f"runs/{run.key}/details", private="true").status_code == 403


def test_details_are_bounded_masked_and_compared(db):
    _, run, _ = told("s", "t1")
    secret = "ghp_" + "a1B2" * 9
    tell_run(run=run, values={"ctx": {secret: [f"token {secret}"]}}, actor=SYSTEM)
    assert secret not in str(RunDetail.objects.get().ctx)
    with pytest.raises(Invalid, match="CONTENT_BLOCKS"):
        tell_run(run=run, values={"content": [1] * 2001}, actor=SYSTEM)
    with pytest.raises(Invalid):
        tell_run(run=run, values={"content": {"type": "prose"}}, actor=SYSTEM)
    run.refresh_from_db()
    version = run.version
    tell_run(run=run, values={"ctx": RunDetail.objects.get().ctx}, actor=SYSTEM)
    run.refresh_from_db()
    assert run.version == version


def test_a_warm_session_shows_nowhere_until_it_is_claimed_or_used(api, page):
    api.post("sessions/ensure", session_id="warm-1", client="vis", title="Warm one")
    api.post("sessions/ensure", session_id="warm-2", client="vis", title="Warm two")
    for name in ("warm-1", "warm-2"):
        assert api.client.put(f"/api/v1/sessions/{name}/warm", headers=api.headers).json()["warm"]
    assert not session_page(SessionFilter(), limit=10, cursor=None).items
    assert [one["id"] for one in api.get("warm-sessions").json()["items"]] == ["warm-1", "warm-2"]
    api.post("sessions/ensure", session_id="plain")
    assert api.get("sessions/latest").json()["id"] == "plain"
    assert api.post("sessions/warm-1/claim", {}).status_code == 200
    assert api.post("sessions/warm-1/claim", {}).json()["error"] == "already_claimed"
    told("warm-2", "t1")
    shown = {one.id for one in session_page(SessionFilter(), limit=10, cursor=None).items}
    assert shown == {"plain", "warm-1", "warm-2"}
    assert api.get("sessions/warm-2/versions").json()["claimed_at"] is not None
    assert api.post("sessions/warm-2/claim", {}).json()["error"] == "already_claimed"
    assert api.get("warm-sessions").json()["items"] == []
    late = api.client.put("/api/v1/sessions/warm-2/warm", headers=api.headers)
    assert late.json()["warm"] is False
    used = api.post("sessions/ensure", session_id="used").json()["id"]
    told(used, "t1")
    assert api.client.put(f"/api/v1/sessions/{used}/warm", headers=api.headers).json()["error"] == "in_use"
    assert api.post("sessions/used/claim", {}).json()["error"] == "not_warm"


def test_a_preferred_model_outlives_forks_and_a_blank_one_clears_both(api):
    api.post("sessions/ensure", session_id="s")

    def prefer(**body: str) -> object:
        answer = api.client.put(
            "/api/v1/sessions/s/preferred-model", body, content_type="application/json", headers=api.headers
        )
        return answer.json()["preferred_model"]

    assert prefer(provider="p", model="m") == {"provider": "p", "model": "m"}
    forked = api.post("sessions/s/fork", {}).json()
    assert forked["preferred_model"] == {"provider": "p", "model": "m"}
    assert prefer(provider="p", model="") is None
    assert Project.objects.count() == 0


def test_a_fork_that_would_keep_everybody_waiting_is_refused_by_name(api, monkeypatch):
    turn, _, _ = told("s", "t1")
    monkeypatch.setattr("sessions_app.services.copies.FORK_CALLS", 0)
    answer = api.post(f"sessions/s/fork?through_turn={turn.key}", {})
    assert (answer.status_code, "FORK_CALLS" in answer.json()["detail"]) == (422, True)
    assert api.post("sessions/s/fork?through_turn=999", {}).status_code == 404
    assert api.post(f"sessions/s/fork?through_turn={turn.key}", {"model": "m"}).json()["field"] == "model"
    assert Session.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_who_claim_a_warm_session_at_once_one_gets_it():
    session, _ = ensure_session(session_id="warm", actor=SYSTEM)
    warm_up(session=session, actor=SYSTEM)
    told_of: list[str] = []

    def claim() -> None:
        try:
            claim_session(session=session, actor=SYSTEM)
            told_of.append("mine")
        except Conflict as refused:
            told_of.append(refused.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=claim) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(told_of) == ["already_claimed"] * 5 + ["mine"]
