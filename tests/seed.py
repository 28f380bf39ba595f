"""A team's busy day, for looking at: every noun has rows, some of them hostile or very long.

``manage.py shell -c "from tests.seed import seed_demo; seed_demo()"`` fills the settings' empty database.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from backlog_app.models import Sprint, SprintState
from backlog_app.services.stories import add_story
from contextdash import clock, ids
from contextdash.actor import SYSTEM, Actor
from contextdash.models import User
from contextdash.services.tokens import create_token
from reviews_app.services.reviews import log_review, set_resolution
from sessions_app.models import HookBucket, Project, Quarantined, Session, ToolCall
from sessions_app.services.decisions import log_decision, mark_conflict
from sessions_app.services.hook_events import log_hook_event
from sessions_app.services.messages import write_message
from sessions_app.services.mistakes import log_mistake
from sessions_app.services.plans import snapshot_plan
from sessions_app.services.projects import create_project
from tests import factories
from tests.teller import ANSI, DIFF, HOSTILE, LINK, LONG, LONG_AGENT, PLAN, RTL, started

DAY = 60 * 24  # minutes


def seed_demo(person: User | None = None) -> None:
    person = person or factories.user("owner", username="lead", first_name="Lea", last_name="Deng")
    actor = Actor(user=person)
    create_token(owner=person, name="build-box", scope="write", actor=actor)
    create_token(owner=person, name=HOSTILE[:90], scope="ingest", actor=actor)
    projects = [create_project(name=name, actor=actor) for name in ("ledgerline", "parcel-router", HOSTILE)]
    main = _refunds(projects[0])
    _others(projects)
    _old(projects)
    _messages_and_plans(main, actor)
    _decisions(main, projects[0], actor)
    _mistakes(main, projects[0], actor)
    _reviews(main, actor)
    _board(main, projects[0], actor)
    _hook_reports(main)
    _deliveries()


def _ago(minutes: float) -> datetime:
    return clock.now() - timedelta(minutes=minutes)


def _refunds(project: Project) -> Session:
    tell = started(
        "26b81461-9a3c-4b51-8c15-1d3b5a0f7c11",
        42,
        project=project,
        title="Make refunds idempotent when the provider resends the webhook",
        user_request="The provider resends webhooks; a refund must happen once.",
    )
    tell.note("session_start", "started by resume")
    tell.prompt("The provider resends webhooks after a timeout. Make refunds **idempotent**.")
    tell.call("Read", {"file_path": "/srv/ledgerline/api/refunds/service.py"}, "def refund():", seconds=0.04)
    tell.call("Grep", {"pattern": "idempotency_key"}, "api/refunds/models.py:31", seconds=0.2)
    tell.call("Bash", {"command": "pytest -q tests/refunds"}, ANSI, seconds=161)
    tell.call("Bash", {"command": "docker build ."}, error="Exit code 137\nKilled", seconds=664)
    child = started(
        ids.child_session_id(tell.session.id, "agent-1"),
        30,
        project=project,
        agent_name="code-reviewer",
        parent=tell.session,
        agent_id="agent-1",
        title="Review the diff of the refund service",
    )
    child.prompt("Review the staged diff. " + LINK)
    child.call("Bash", {"command": "git diff --staged"}, DIFF, seconds=0.3)
    child.answer("Two findings, one *Critical*.")
    spawn = tell.call("Task", {"description": "Review the diff"}, "Two findings.", seconds=240)
    ToolCall.objects.filter(key=spawn.key).update(child=child.end(status="closed", activity="ended"))
    tell.answer("Refunds now carry a unique key.\n\n- [x] index\n- [ ] replay test\n\n" + LINK)
    tell.prompt(HOSTILE + "\n\n" + RTL)
    tell.call(HOSTILE[:100], {"x": "y" * 3000}, HOSTILE, seconds=1.2)
    edit = {"file_path": "/srv/ledgerline/api/webhooks/views.py", "old_string": "==", "new_string": "is"}
    tell.call("Edit", edit, "ok", seconds=0.08)
    tell.at_us = clock.now_us() - 64_000_000
    tell.call("Bash", {"command": "pytest -q tests/refunds -k shuffled"})
    return tell.end(activity="working")


def _others(projects: Sequence[Project]) -> None:
    ledger, parcels, hostile_project = projects
    title = "Split the settlement job so that a month fits into one night"
    asks = started("ask-1", 20, project=ledger, agent_name="backend-developer", title=title)
    asks.prompt("Split the settlement job.")
    asks.call("Bash", {"command": 'psql -c "CREATE INDEX CONCURRENTLY settlements_day_idx …"'})
    question = "May I create an index on the live settlements table?"
    asks.end(activity="waiting", waiting_for=question, activity_since_us=clock.to_us(_ago(6)))

    title = "Nightly flake: test_webhook_retry_order fails one run in nine"
    flake = started("flake-1", 9, project=ledger, agent_name="tester", title=title, client="codex")
    flake.prompt("Find the flake.")
    flake.at_us = clock.now_us() - 12_000_000
    flake.call("Bash", {"command": "for i in $(seq 30); do pytest -q -k retry_order; done"})
    flake.end(activity="working")

    title = "Move the container base image to Debian 13"
    dead = started("dead-1", 95, project=parcels, agent_name="devops", title=title)
    dead.prompt("Move the base image.")
    dead.call("Bash", {"command": "docker build ."}, error="Exit code 137", seconds=664)
    dead.end(status="errored", activity="ended", ended_at=clock.from_us(dead.at_us))

    title = "Refund page: show the attempt history under each payment"
    stuck = started("stuck-1", 75, project=parcels, agent_name="frontend-developer", title=title)
    stuck.prompt("Show the attempts.")
    stuck.call("Bash", {"command": "npm run build"})
    stuck.end(activity="working")

    rtl = started("rtl-1", 200, project=parcels, agent_name=LONG_AGENT, title=RTL)
    rtl.prompt(RTL)
    rtl.answer(RTL)
    rtl.end(status="closed", activity="ended", ended_at=clock.from_us(rtl.at_us))

    hostile = started("hostile-1", 15, project=hostile_project, agent_name=HOSTILE[:60], title=HOSTILE)
    hostile.prompt(HOSTILE)
    hostile.end(activity="idle", branch=HOSTILE, host=HOSTILE)

    long = started("long-1", DAY + 60, project=None, agent_name="orchestrator", title=LONG[:500])
    long.prompt(LONG * 20)
    long.answer(LONG)
    long.end(status="compacted", activity="idle", compaction_count=2, client="gemini-cli")


def _old(projects: Sequence[Project]) -> None:
    for n in range(40):
        agent = ("tester", "orchestrator", "devops")[n % 3]
        title = f"Nightly run {n}: tidy the fixtures and look at what failed"
        minutes = DAY * (1 + n // 4) + n * 11
        old = started(f"old-{n:02}", minutes, project=projects[n % 2], agent_name=agent, title=title)
        old.prompt("Tidy up.")
        old.call("Bash", {"command": "pytest -q"}, "ok", seconds=3 + n)
        old.answer("Done.")
        old.end(status="closed", activity="ended", ended_at=clock.from_us(old.at_us))


def _messages_and_plans(session: Session, actor: Actor) -> None:
    question = "Order replays by key or by time? The two tests contradict each other. I need one rule."
    for role, agent, target, minutes, content in (
        ("request", "orchestrator", "backend-developer", 40, "Please make refunds idempotent. " + LINK),
        ("response", "backend-developer", "orchestrator", 35, "Done:\n\n" + PLAN),
        ("handoff", "tester", "orchestrator", 18, question),
        ("finding", "code-reviewer", None, 16, HOSTILE),
        ("handoff", LONG_AGENT[:200], "devops", 5, RTL),
    ):
        write_message(
            session_id=session.id,
            agent_name=agent,
            role=role,
            content=content,
            target=target,
            actor=actor,
            at=_ago(minutes),
        )
    plans = (
        (None, ".claude/plans/refunds.plan.md", PLAN, 39),
        (None, ".claude/plans/refunds.plan.md", PLAN.replace("[ ]", "[x]"), 31),
        (HOSTILE, "docs/" + "deep/" * 40 + "x.plan.md", HOSTILE + "\n\n" + LINK, 7),
    )
    for title, path, body, minutes in plans:
        snapshot_plan(session=session, title=title, path=path, body=body, actor=actor, at=_ago(minutes))


def _decisions(session: Session, project: Project, actor: Actor) -> None:
    store = "idempotency-store"
    redis = log_decision(
        topic=store, choice="A lock in Redis", project=project, actor=actor, at=_ago(3 * DAY)
    )
    log_decision(
        topic=store,
        choice="Unique index in PostgreSQL, not a lock in Redis",
        rationale="One store less, and the *database* already promises it.",
        agent_name="backend-developer",
        session=session,
        actor=actor,
        supersedes=redis.pk,
        at=_ago(31),
    )
    csv = "Stream CSV; JSON only on request"
    log_decision(topic="export-format", choice=csv, project=project, actor=actor, at=_ago(12))
    pair = [
        log_decision(topic="retry-policy", choice=choice, project=project, actor=actor, at=_ago(minutes))
        for choice, minutes in (("Retry for 72 hours", DAY + 300), ("Stop after 24 hours", DAY + 60))
    ]
    mark_conflict(decisions=pair, actor=actor, reason="They contradict each other.")
    log_decision(topic=HOSTILE[:100], choice=HOSTILE, rationale=LINK, actor=actor, at=_ago(4))


def _mistakes(session: Session, project: Project, actor: Actor) -> None:
    for n in range(3):
        log_mistake(
            agent_name="tester",
            category="test",
            summary="A replay test compared timestamps instead of keys",
            root_cause="compared timestamps",
            fix="Compare keys.",
            lesson_file="docs/lessons/replay.md" if n else None,
            session=None if n else session,
            project=project,
            actor=actor,
            at=_ago(20 + n * DAY),
        )
    for category, summary, cause, minutes in (
        ("dispatch", "Two agents edited one migration at the same time", "no lock", 3),
        ("strange-category", HOSTILE, RTL, 2),
    ):
        log_mistake(
            agent_name="orchestrator",
            category=category,
            summary=summary,
            root_cause=cause,
            project=project,
            actor=actor,
            at=_ago(minutes),
        )


def _reviews(session: Session, actor: Actor) -> None:
    signature = "Webhook signature is compared with ==\n\nIt stops at the first byte that differs."
    findings = (
        ("api/webhooks/views.py:88", "Critical", signature),
        ("api/refunds/service.py:61", "High", "Refund amount is not checked against what is left"),
        ("api/export/stream.py:44", "Medium", "Export holds a cursor open while the client is slow"),
        ("api/retry/policy.py:9", "Low", "Name says seconds, value is milliseconds"),
        ("tests/export/test_rows.py:12", "Info", "Test data could use the shared builder"),
        (HOSTILE, "Blocker!", HOSTILE),
        ("api/" + "very/deep/" * 30 + "file.py:1", "High", LONG),
    )
    made = [
        log_review(
            target=target,
            severity=severity,
            finding=finding,
            suggested_fix="Use `hmac.compare_digest`.",
            code_context=DIFF if n == 0 else None,
            diff_hash="9f3c21e" + "0" * 57,
            session=session,
            actor=actor,
            at=_ago(31 - n),
        )
        for n, (target, severity, finding) in enumerate(findings)
    ]
    set_resolution(review=made[4], to="dismissed", actor=actor, reason="Not worth it.")
    set_resolution(review=made[3], to="resolved", actor=actor, reason="Renamed.")


def _board(session: Session, project: Project, actor: Actor) -> None:
    sprint = Sprint.objects.create(
        project=project,
        name="Sprint 14",
        goal="Refunds are safe to retry",
        state=SprintState.ACTIVE,
        starts_on=_ago(6 * DAY).date(),
        ends_on=_ago(-3 * DAY).date(),
        started_at=_ago(6 * DAY),
        created_at=_ago(7 * DAY),
    )
    for story, status, agent, priority in (
        ("Replay a shuffled day of webhooks and settle the same way", "in_progress", "tester", 1),
        ("Unique index on the idempotency key", "review", "backend-developer", 1),
        ("Sandbox keys from the card provider expired", "blocked", "scrum-master", 2),
        ("Move ledger ids to bigint", "blocked", "backend-developer", 2),
        ("Statement export as CSV", "todo", None, 3),
        ("Attempt history under each payment", "todo", "frontend-developer", 4),
        ("Provider contract read and summed up", "done", "orchestrator", 3),
        (HOSTILE, "todo", HOSTILE[:60], 5),
        (RTL, "in_progress", LONG_AGENT[:200], 3),
        (LONG, "done", "devops", 5),
    ):
        add_story(
            story=story,
            status=status,
            assigned_agent=agent,
            priority=priority,
            acceptance_criteria="- [x] Same key: one refund\n- [ ] Two both go through\n- [ ] " + HOSTILE,
            session_id=session.id,
            sprint_id=sprint.pk,
            project=project.slug,
            estimate=3,
            actor=actor,
        )


def _hook_reports(session: Session) -> None:
    for n in range(20):
        broken = n % 3 == 0
        log_hook_event(
            hook_name="21-review-gate",
            event_type="PostToolUse",
            outcome="fail" if broken else "ok",
            duration_ms=20 + n,
            payload_json=json.dumps({"error": "no such table: reviews"}) if broken else None,
            session_id=session.id,
            actor=SYSTEM,
            at=_ago(80 - n * 3),
        )
    log_hook_event(
        hook_name=HOSTILE, event_type="Stop", outcome="strange", payload_json=HOSTILE, actor=SYSTEM
    )


def _deliveries() -> None:
    quarter = 15 * 60 * 1_000_000
    now_us = clock.now_us()
    for client, event, accepted in (
        ("claude-code", "PostToolUse", 420),
        ("claude-code", "SessionStart", 12),
        ("codex", "PostToolUse", 77),
        ("mystery-client", "Whatever", 3),
    ):
        for back in range(8):
            HookBucket.objects.create(
                start_us=now_us - now_us % quarter - back * quarter,
                client=client,
                event=event,
                accepted=accepted // (back + 1),
                duplicate=back,
                refused=1 if back == 2 else 0,
                unknown=accepted if client == "mystery-client" else 0,
                last_us=now_us - back * quarter - 3_000_000,
            )
    for reason, detail, body in (
        ("malformed", "Not JSON: it ends in the middle", b'{"hook_event_name":'),
        ("conflict", HOSTILE, HOSTILE.encode()),
    ):
        Quarantined.objects.create(
            source="hook",
            client="claude-code",
            event="PostToolUse",
            reason=reason,
            detail=detail,
            body=body,
            body_size=len(body),
            at=_ago(7),
        )
