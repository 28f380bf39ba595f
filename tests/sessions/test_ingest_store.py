"""The store: duplicates, conflicts, deleted sessions, counting, places, plans, secrets, cuts."""

import zlib
from typing import Any

import pytest

from contextdash import clock
from contextdash.limits import HOOK_TEXT_BYTES
from sessions_app.ingest.observation import Outcome
from sessions_app.ingest.places import remote_key
from sessions_app.models import (
    Event,
    HookBucket,
    Plan,
    Project,
    Quarantined,
    Session,
    Tombstone,
    ToolCall,
    Workspace,
)
from tests.sessions.deliveries import SECOND, T0, body, deliver, seen, tool

pytestmark = pytest.mark.django_db


def test_the_same_delivery_is_stored_once_within_a_batch_and_across_batches() -> None:
    first, again = seen(tool("PreToolUse", "c1"), T0), seen(tool("PreToolUse", "c1"), T0 + SECOND)
    assert deliver(first, again) == [Outcome.ACCEPTED, Outcome.DUPLICATE]
    assert deliver(seen(tool("PreToolUse", "c1"), T0 + 900 * SECOND)) == [Outcome.DUPLICATE]
    assert Event.objects.count() == ToolCall.objects.count() == 1
    assert Session.objects.get().event_count == 1


def test_the_same_call_of_another_agent_or_event_is_another_delivery() -> None:
    inside = tool("PreToolUse", "c1", agent_id="a1")
    outcomes = deliver(seen(tool("PreToolUse", "c1")), seen(inside), seen(tool("PostToolUse", "c1")))
    assert outcomes == [Outcome.ACCEPTED] * 3


def test_equal_bytes_within_five_seconds_are_one_delivery() -> None:
    note = body("Notification", message="Look", notification_type="auth_success")
    slot = T0 - T0 % (5 * SECOND)
    outcomes = deliver(*(seen(note, slot + at) for at in (4 * SECOND, 7 * SECOND, 12 * SECOND)))
    assert outcomes == [Outcome.ACCEPTED, Outcome.DUPLICATE, Outcome.ACCEPTED]


def test_a_delivery_id_tells_equal_bytes_apart_and_repeats_together() -> None:
    note = body("Notification", message="Look")
    outcomes = deliver(
        seen(note, T0, delivery_id="d1"),
        seen(note, T0, delivery_id="d2"),
        seen(note, T0 + 900 * SECOND, delivery_id="d1"),
    )
    assert outcomes == [Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.DUPLICATE]


def test_white_space_does_not_make_another_content() -> None:
    spaced = b'{ "session_id": "s1",\n "hook_event_name": "PreToolUse", "tool_use_id": "c1" }'
    assert deliver(seen(spaced), seen(spaced.replace(b" ", b"").replace(b"\n", b""))) == [
        Outcome.ACCEPTED,
        Outcome.DUPLICATE,
    ]


def test_other_content_of_the_same_identity_is_quarantined() -> None:
    outcomes = deliver(
        seen(tool("PostToolUse", "c1", tool_response="one")),
        seen(tool("PostToolUse", "c1", tool_response="two")),
    )
    assert outcomes == [Outcome.ACCEPTED, Outcome.CONFLICT]
    kept = Quarantined.objects.get()
    assert (kept.reason, kept.session_id) == ("conflict", "s1")
    assert b"two" in bytes(kept.body)
    assert Event.objects.count() == 1


@pytest.mark.parametrize("inside", [{}, {"agent_id": "a1"}])
def test_what_comes_for_a_deleted_session_is_quarantined(inside: dict[str, Any]) -> None:
    deliver(seen(body("SessionStart")))
    Tombstone.objects.create(session_id="s1", deleted_at=clock.now())
    Session.objects.update(deleted_at=clock.now())
    assert deliver(seen(tool("PreToolUse", "c1", **inside))) == [Outcome.DELETED_SESSION]
    assert Quarantined.objects.get().reason == "deleted_session"
    assert Event.objects.count() == 1


def test_a_purged_sessions_tombstone_refuses_it_too() -> None:
    Tombstone.objects.create(session_id="s1", deleted_at=clock.now())
    assert deliver(seen(tool("PreToolUse", "c1"))) == [Outcome.DELETED_SESSION]
    assert not Session.objects.exists()


def test_deliveries_are_counted_in_quarters_of_an_hour() -> None:
    quarter = T0 - T0 % (900 * SECOND)
    deliver(
        seen(tool("PreToolUse", "c1"), quarter),
        seen(tool("PreToolUse", "c1"), quarter + SECOND),
        seen(tool("PreToolUse", "c2"), quarter + 899 * SECOND),
    )
    deliver(
        seen(tool("PreToolUse", "c3"), quarter + 900 * SECOND),
        seen(tool("PreToolUse", "c3", tool_input={}), quarter + 901 * SECOND),
    )
    assert list(
        HookBucket.objects.order_by("start_us").values_list(
            "start_us", "accepted", "duplicate", "refused", "last_us"
        )
    ) == [
        (quarter, 2, 1, 0, quarter + 899 * SECOND),
        (quarter + 900 * SECOND, 1, 0, 1, quarter + 901 * SECOND),
    ]


def test_the_first_session_of_a_root_makes_its_project() -> None:
    deliver(seen(body("SessionStart", "s1"), host="box"), seen(body("SessionStart", "s2"), host="box"))
    project = Project.objects.get()
    assert (project.name, project.slug, project.root) == ("moss", "moss", "/src/moss")
    assert Workspace.objects.get().host == "box"
    assert set(Session.objects.values_list("project__slug", "workspace")) == {("moss", "/src/moss")}


def test_one_remote_is_one_project_wherever_it_was_cloned() -> None:
    deliver(
        seen(
            body("SessionStart", "s1", cwd="/a/src"), root="/a/moss", remote="git@git.example:team/moss.git"
        ),
        seen(body("SessionStart", "s2", cwd="/b"), root="/b", remote="https://me:pw@git.example/team/moss"),
        seen(body("SessionStart", "s3", cwd="/b")),
    )
    project = Project.objects.get()
    assert (project.name, project.remote) == ("moss", "git.example/team/moss")
    assert Session.objects.filter(project=project).count() == 3


def test_two_projects_of_one_name_get_two_slugs() -> None:
    deliver(seen(body("SessionStart", "s1", cwd="/a/moss")), seen(body("SessionStart", "s2", cwd="/b/moss")))
    assert set(Project.objects.values_list("name", "slug")) == {("moss", "moss"), ("moss", "moss-2")}


def test_a_worktree_belongs_to_the_project_it_was_made_from() -> None:
    deliver(
        seen(body("SessionStart", "s1", cwd="/src/moss")),
        seen(body("SessionStart", "s2", cwd="/src/moss/.claude/worktrees/try-it")),
        seen(body("SessionStart", "s3", cwd="C:\\src\\kettle")),
    )
    assert dict(Session.objects.values_list("id", "project__name")) == {
        "s1": "moss",
        "s2": "moss",
        "s3": "kettle",
    }


def test_a_folder_without_a_name_and_no_folder_at_all_are_no_harm() -> None:
    deliver(seen(body("SessionStart", "s1", cwd="/")), seen(body("SessionStart", "s2", cwd="")))
    assert Session.objects.get(id="s2").project is None
    assert Session.objects.get(id="s1").project is not None


@pytest.mark.parametrize(
    ("remote", "key"),
    [
        ("git@github.com:o/r.git", "github.com/o/r"),
        ("ssh://git@github.com:22/o/r.git", "github.com/o/r"),
        ("https://u:p@GitHub.com/o/r/", "github.com/o/r"),
        ("/srv/git/r.git", "/srv/git/r"),
        ("http://[broken", "[broken"),
        ("", ""),
    ],
)
def test_a_remotes_address_has_one_form(remote: str, key: str) -> None:
    assert remote_key(remote) == key


def test_a_plan_is_captured_when_proposed_and_approved() -> None:
    asked = {"plan": "# Index it\n\n1. Look"}
    deliver(seen(tool("PreToolUse", "c1", name="ExitPlanMode", tool_input=asked)))
    plan = Plan.objects.get()
    assert (plan.title, plan.status, plan.session.id) == ("Index it", "proposed", "s1")
    deliver(seen(tool("PostToolUse", "c1", name="ExitPlanMode", tool_input=asked)))
    assert Plan.objects.get().status == "approved"
    assert Session.objects.get().plan_count == 1


@pytest.mark.parametrize(
    "path", ["/src/moss/fix.plan.md", "/home/d/.claude/plans/a.md", "C:\\x\\.claude\\plans\\a.md"]
)
def test_a_written_plan_file_is_captured_once_per_body(path: str) -> None:
    first, second = ({"file_path": path, "content": text} for text in ("# One\n", "# Two\n"))
    deliver(seen(tool("PostToolUse", "c1", name="Write", tool_input=first)))
    deliver(seen(tool("PostToolUse", "c2", name="Write", tool_input=first)))
    deliver(seen(tool("PostToolUse", "c3", name="Write", tool_input=second)))
    assert list(Plan.objects.order_by("id").values_list("title", flat=True)) == ["One", "Two"]


def test_an_edited_plan_file_is_captured_as_it_is_after_the_edit() -> None:
    edit = {"file_path": "/a/b.plan.md", "old_string": "1. Look", "new_string": "1. Ask"}
    answer = {"filePath": "/a/b.plan.md", "originalFile": "# Plan\n1. Look\n"}
    deliver(seen(tool("PostToolUse", "c1", name="Edit", tool_input=edit, tool_response=answer)))
    assert Plan.objects.get().body_md == "# Plan\n1. Ask\n"


def test_other_files_and_failed_writes_are_no_plans() -> None:
    asked = {"file_path": "/a/b.plan.md", "content": "# X"}
    deliver(
        seen(tool("PostToolUseFailure", "c1", name="Write", tool_input=asked, error="no")),
        seen(tool("PreToolUse", "c2", name="Write", tool_input=asked)),
        seen(tool("PostToolUse", "c3", name="Write", tool_input=asked | {"file_path": "/a/b.md"})),
    )
    assert not Plan.objects.exists()


def test_a_plan_that_cannot_be_kept_does_not_cost_the_event() -> None:
    asked = {"file_path": "/" + "x" * 5000 + ".plan.md", "content": "# X"}
    assert deliver(seen(tool("PostToolUse", "c1", name="Write", tool_input=asked))) == [Outcome.ACCEPTED]
    assert not Plan.objects.exists()
    assert ToolCall.objects.get().state == "done"


def test_a_session_id_that_cannot_be_kept_is_stored_by_its_digest() -> None:
    deliver(
        seen(body("SessionStart", "id with spaces"), T0),
        seen(tool("PreToolUse", "c1", session_id="id with spaces")),
    )
    session = Session.objects.get()
    assert session.id.startswith("x")
    assert session.external_id == "id with spaces"
    assert session.event_count == 2


def test_long_ids_names_and_texts_fit_their_columns() -> None:
    long = "ä" * 5000
    one = tool("PostToolUse", long, name=long, prompt_id=long, agent_id=long, agent_type=long)
    one |= {
        "permission_mode": long,
        "cwd": "/" + long,
        "session_title": long,
        "tool_input": {"command": long},
    }
    one |= {"session_id": long}
    facts = {"host": long, "branch": long, "root": "/" + long, "remote": long, "delivery_id": long}
    assert deliver(seen(one, **facts)) == [Outcome.ACCEPTED]
    assert deliver(seen(body(long[:300], message=long), client="c" * 40)) == [Outcome.ACCEPTED]


def test_a_text_above_the_limit_is_cut_and_says_so() -> None:
    long = "x" * (HOOK_TEXT_BYTES + 5)
    deliver(seen(tool("PostToolUse", "c1", tool_response={"stdout": long})))
    event = Event.objects.get()
    payload = zlib.decompress(bytes(event.payload)).decode()
    assert len(payload) < HOOK_TEXT_BYTES + 1000
    assert "cut here: 1048581 bytes in all, SHA-256 " in payload
    assert ToolCall.objects.get().output_size < HOOK_TEXT_BYTES + 1000


def test_what_no_database_can_store_is_replaced() -> None:
    raw = (
        b'{"session_id": "s1", "hook_event_name": "Post\\u0000ToolUse", "tool_use_id": "c\\u0000",'
        b' "tool_response": {"stdout": "a\\u0000b \\ud83d", "n": 1e999}}'
    )
    assert deliver(seen(raw)) == [Outcome.ACCEPTED]
    event = Event.objects.get()
    assert event.name == "Post\ufffdToolUse"
    payload = zlib.decompress(bytes(event.payload)).decode()
    assert "a\ufffdb \ufffd" in payload
    assert '"1e999"' in payload


@pytest.mark.parametrize(
    "odd",
    [
        {"session_id": 5},
        {"session_id": "s1", "tool_input": "text", "tool_response": ["a", 1], "duration_ms": "x"},
        {"session_id": "s1", "prompt": {"a": 1}, "prompt_id": 7, "cwd": None, "agent_id": ["x"]},
        {"session_id": "s1", "last_assistant_message": 5, "error": {}, "message": [], "source": {}},
        {"session_id": "s1", "tool_input": {"plan": 5, "edits": "x", "content": None, "file_path": 7}},
    ],
)
def test_fields_of_any_type_are_no_harm(odd: dict[str, Any]) -> None:
    from sessions_app.ingest.claude_code import EVENTS

    for name in EVENTS:
        for tool_name in ("Write", "ExitPlanMode", "Agent", ["x"]):
            one = odd | {"hook_event_name": name, "tool_use_id": f"{name}{tool_name}", "tool_name": tool_name}
            assert deliver(seen(one, client="claude-code"))[0] in (
                Outcome.ACCEPTED,
                Outcome.COUNTED,
                Outcome.DUPLICATE,
                Outcome.CONFLICT,
            )


def test_the_work_of_a_batch_does_not_grow_with_its_sessions(django_assert_max_num_queries: Any) -> None:
    deliver(*(seen(tool("PreToolUse", f"a{n}", session_id=f"s{n}", prompt_id="t1")) for n in range(50)))
    batch = [seen(tool("PostToolUse", f"a{n}", session_id=f"s{n}", prompt_id="t1")) for n in range(50)]
    # The store's own statements go past Django's count; what it asks the ORM for must be next to nothing.
    with django_assert_max_num_queries(8):
        deliver(*batch)
    assert ToolCall.objects.filter(state="done").count() == 50
