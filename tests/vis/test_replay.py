"""A whole store with forks, copies and retries, through our services: nothing lost, nothing counted twice."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Sum

from contextdash.errors import NotFound
from sessions_app.models import (
    Aggregate,
    Attachment,
    CopiedUsage,
    Iteration,
    LogEntry,
    ModelPreference,
    Project,
    RoutingEvent,
    Run,
    RunDetail,
    Session,
    SessionState,
    Turn,
    UsageBucket,
    Workspace,
    WorkspaceFocus,
)
from sessions_app.queries import attachments, chains, places, routing
from sessions_app.queries.sessions import SessionFilter, session_page
from tests.vis.replay import COPIES, Replayed, copied_turns, replay, rows_of, tables

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> Iterator[Replayed]:
    """Once for all tests here, which only read."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield replay()
        transaction.set_rollback(True)


def test_every_row_of_the_store_arrives_where_readers_look_for_it(made):
    assert Session.objects.count() == 14
    listed = session_page(SessionFilter(), limit=100, cursor=None).items
    assert len(listed) == 12
    (warm,) = chains.warm_sessions()
    assert warm.id == "4f883871-b492-4e27-a7de-eadc0840d02a"
    assert Session.objects.exclude(parent=None).count() == 1
    assert SessionState.objects.count() == 17
    copied = sum(len(copied_turns(copy)) for copy in COPIES)
    own = [row for row in tables()["session_turn_soul"] if row["id"] in made.turns]
    assert len(own) + copied == 79 == Turn.objects.count()
    assert Run.objects.count() == 83
    retries = RunDetail.objects.exclude(retried_from=None).select_related("run", "retried_from")
    assert [one.run.number - one.retried_from.number for one in retries] == [1, 1, 1, 1]
    assert Iteration.objects.count() == 260
    assert RoutingEvent.objects.count() == 18
    assert (Attachment.objects.count(), Aggregate.objects.count(), LogEntry.objects.count()) == (13, 8, 36)
    assert ModelPreference.objects.count() == len(
        [row for row in rows_of("session_soul") if row["llm_pref_model"]]
    )


def test_a_chain_of_forks_reads_as_one_conversation(made):
    session = made.sessions["573e8359-5083-4b77-b75b-3df7d4e1e918"]
    states = chains.lineage(session).states
    assert [chains.title_of(session, states, state) for state in states] == [
        "Usage card numbers [forked]",
        "Usage card numbers (fork) [forked]",
        "Usage card, second idea",
    ]
    chain = chains.chain_of(states)
    assert [state.version for state in chain] == [0, 1, 2]
    expected = [
        row["id"]
        for state in sorted(
            rows_of("session_state", session_soul_id=session.id), key=lambda row: row["version"]
        )
        for row in sorted(
            rows_of("session_turn_soul", session_state_id=state["id"]), key=lambda row: row["position"]
        )
    ]
    assert [turn.turn_id for turn in chains.turns_of(chain)] == expected
    assert [turn.turn_id for turn in chains.turns_of(chains.chain_of(states, 1))] == expected[:9]
    with pytest.raises(NotFound):
        chains.chain_of(states, 3)


def test_copies_are_counted_where_they_happened_and_told_apart_where_they_are(made):
    of_copies = {
        call["id"]
        for copy in COPIES
        for turn in copied_turns(copy)
        for run in rows_of("session_turn_state", session_turn_soul_id=turn["id"])
        for call in rows_of("session_turn_iteration", session_turn_state_id=run["id"])
    }
    counted = [row for row in tables()["session_turn_iteration"] if row["id"] not in of_copies]
    micro = sum(round((row["cost_usd"] or 0) * 1_000_000) for row in counted)
    output = sum(row["output_tokens"] or 0 for row in counted)
    sums = UsageBucket.objects.aggregate(Sum("requests"), Sum("cost_micro"), Sum("output_tokens"))
    assert list(sums.values()) == [len(counted), micro, output]
    of_sessions = Session.objects.aggregate(Sum("iteration_count"), Sum("cost_micro"), Sum("output_tokens"))
    assert list(of_sessions.values()) == [len(counted), micro, output]
    for copy, source in COPIES.items():
        session = Session.objects.get(id=copy)
        apart = CopiedUsage.objects.get(session=session)
        told = [
            call
            for turn in copied_turns(copy)
            for run in rows_of("session_turn_state", session_turn_soul_id=turn["id"])
            for call in rows_of("session_turn_iteration", session_turn_state_id=run["id"])
        ]
        own = Iteration.objects.filter(session=session, copied=False)
        assert session.iteration_count == own.count()
        assert session.cost_micro == own.aggregate(Sum("cost_micro"))["cost_micro__sum"]
        assert apart.iteration_count == len(told) > 0
        assert apart.output_tokens == sum(row["output_tokens"] or 0 for row in told)
        assert apart.cost_micro == sum(round((row["cost_usd"] or 0) * 1_000_000) for row in told)
        assert session.forked_from == made.sessions[source]


def test_what_nobody_told_the_cost_of_is_unpriced_and_not_nothing(made):
    unknown = Iteration.objects.filter(output_tokens=None)
    assert unknown.count() == 4
    assert set(unknown.values_list("cost_micro", flat=True)) == {None}
    assert (
        UsageBucket.objects.aggregate(Sum("unpriced"))["unpriced__sum"]
        == 4 - unknown.filter(copied=True).count()
    )


def test_places_are_one_a_folder_however_often_a_client_told_of_them(made):
    assert len(made.workspaces) == 22
    assert Workspace.objects.count() == len({row["root"] for row in tables()["workspace"]}) == 5
    drafts = {row.label: row for row in Workspace.objects.filter(kind="draft").select_related("parent")}
    assert set(drafts) == {"old-idea", "safer-parser"}
    assert drafts["old-idea"].state == "discarded"
    assert drafts["old-idea"].discarded_at is not None
    assert drafts["safer-parser"].parent.root == "/home/dev/code/vis-core"
    # The store's third focus is on a draft that was discarded.
    assert set(WorkspaceFocus.objects.values_list("repo", flat=True)) == {
        "acme-api-69edda16",
        "scratch-4671d3b0",
    }


def test_projects_keep_their_order_without_gaps(made):
    assert list(Project.objects.values_list("name", "position")) == [
        ("vis-core", 0),
        ("acme-api", 1),
        ("reading notes", 2),
    ]
    for project_id, project in made.projects.items():
        members = sorted(
            rows_of("session_soul", project_id=project_id), key=lambda row: row["project_position"]
        )
        assert [row.id for row in places.ordered(project)][: len(members)] == [row["id"] for row in members]


def test_files_are_recognised_by_their_bytes_and_numbered_by_name(made):
    files = attachments.files_of(made.sessions["c30f6122-a43f-4049-bd25-4bf9473ff812"])
    shown = {one.file.filename: one for one in files}
    assert shown["chart.png"].file.version == 2
    assert [one.version for one in shown["chart.png"].earlier] == [1]
    assert shown["chart.png"].is_image
    assert not any(one.is_image for one in files if not one.file.filename.endswith("png"))
    assert Attachment.objects.get(filename="memo.m4a").media_type == "audio/mp4"
    elsewhere = Attachment.objects.get(filename="build-log.csv")
    assert (elsewhere.content, elsewhere.size) == (None, 300112)
    with pytest.raises(NotFound):
        attachments.bytes_of(elsewhere)


def test_routing_is_told_in_one_line_below_the_call(made):
    notes = routing.routing_notes(list(Iteration.objects.values_list("key", flat=True)))
    assert len(notes) == len({row["session_turn_iteration_id"] for row in tables()["llm_routing_event"]})
    assert all(notes.values())
    assert any(note.startswith("retried ") for note in notes.values())
    assert any("from " in note and " to " in note for note in notes.values())


def test_logs_are_newest_first_and_values_that_nobody_decodes_stay_what_they_are(made):
    times = list(LogEntry.objects.values_list("at_us", flat=True))
    assert all(later >= earlier for later, earlier in pairwise(times))
    opaque = Aggregate.objects.get(kind="todo/state")
    assert set(opaque.content) == {"opaque", "head"}
    assert opaque.scope == "state:ac505b8b-0963-46fc-a77e-8522e74298b1/0"
    assert opaque.session == made.sessions["ac505b8b-0963-46fc-a77e-8522e74298b1"]
