"""What list pages cost with many rows of each noun."""

import os
import random
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any

from tests.benchmarks.pages import read, sign_in
from tests.benchmarks.server import ROOT, environment, make_token, running
from tests.benchmarks.writes import Row, folder

WANTED_MS = 20
SESSIONS = 500
OPEN_STORIES = 300
"""The rest is done: a board of so many open stories is no board."""
BATCH = 2_000
WORDS = ("lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit")
PAGES = {
    "today": "/",
    "stand-up": "/standup/",
    "inbox": "/handoffs/",
    "inbox of a project": "/handoffs/?project=bench",
    "acknowledged hand-offs": "/handoffs/?view=acknowledged",
    "inbox by work stream": "/handoffs/?view=stream",
    "plans": "/plans/",
    "decisions": "/decisions/",
    "decisions of a project": "/decisions/?project=bench",
    "mistakes": "/mistakes/",
    "reviews": "/reviews/",
    "reviews of a file": "/reviews/?state=all&file=src/3.py",
    "trends of reviews": "/reviews/trends/",
    "stories as a list": "/board/list/",
    "hooks": "/hooks/",
}


def nouns(rows: int) -> list[Row]:
    with folder() as path:
        start = time.perf_counter()
        token = make_token(path)
        command = [sys.executable, "-m", "tests.benchmarks.nouns", str(rows)]
        subprocess.run(command, env=environment(path), cwd=ROOT, check=True)
        took = time.perf_counter() - start
        measured: list[Row] = [("nouns", f"{rows:,} rows of each", f"made in {took:.0f} s")]
        with running(path, token=token) as server:
            cookie = sign_in(server)
            for name, address in PAGES.items():
                result, size = read(server, cookie, address)
                shown = f"{result.ms(50):.1f} ms, {size / 1e3:.0f} KB"
                measured.append((f"{name}: p50", shown, f"≤ {WANTED_MS} ms"))
    return measured


def fill(rows: int) -> None:
    """Write rows as services would, seven minutes apart; every hand-off waits, which is the worst case."""
    from django.db import connection

    from backlog_app.models import BacklogItem
    from contextdash import clock
    from contextdash.actor import SYSTEM
    from reviews_app.models import Review, ReviewTally
    from sessions_app.models import AgentMessage, Decision, HookEvent, Mistake, Plan
    from sessions_app.services.projects import create_project
    from sessions_app.services.sessions import create_session

    chance, now = random.Random(7), clock.now()  # noqa: S311 - no secret
    project = create_project(name="bench", actor=SYSTEM)
    made = [
        create_session(session_id=f"s-{n}", actor=SYSTEM, project=project, title=f"Session {n}")
        for n in range(SESSIONS)
    ]

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    def common(n: int) -> dict[str, Any]:
        return {"session": chance.choice(made), "ts": now - timedelta(minutes=7 * n)}

    def decision(n: int) -> Decision:
        topic = f"topic-{chance.randint(1, 80)}"
        return Decision(project=project, topic=topic, choice=words(9), rationale=words(60), **common(n))

    def mistake(n: int) -> Mistake:
        told = {"category": chance.choice(["build", "test", "other"]), "agent_name": "tester"}
        cause = f"{chance.randint(1, 500):032d}"
        return Mistake(
            project=project, summary=words(9), root_cause=words(20), cause_key=cause, **told, **common(n)
        )

    def plan(n: int) -> Plan:
        keys = {"body_digest": n.to_bytes(16, "big"), "plan_key": (n // 2).to_bytes(16, "big")}
        number = {"number": 1 + n % 2, "newest": n % 2 == 1}
        told = {"title": words(4), "path": f"docs/{n // 2}.md", "body_md": words(300)}
        return Plan(project=project, **told, **keys, **number, **common(n))

    def message(n: int) -> AgentMessage:
        return AgentMessage(
            agent_name="orchestrator", role="handoff", target="tester", content=words(40), **common(n)
        )

    def review(n: int) -> Review:
        rank = 1 + n % 5
        told = {"target": f"src/{n % 900}.py:3", "path": f"src/{n % 900}.py", "finding": words(30)}
        resolution = "open" if n % 20 == 0 else "resolved"
        severity = ("Critical", "High", "Medium", "Low", "Info")[rank - 1]
        diff = f"{n % 9000:064x}"
        return Review(
            project=project,
            severity=severity,
            severity_rank=rank,
            resolution=resolution,
            diff_hash=diff,
            diff_key=diff,
            **told,
            **common(n),
        )

    def story(n: int) -> BacklogItem:
        told = common(n)
        is_open = n < OPEN_STORIES
        return BacklogItem(
            project=project,
            story=words(12),
            status=("todo", "in_progress", "review", "blocked")[n % 4] if is_open else "done",
            assigned_agent="tester",
            rank=f"{n:09d}",
            changed_at=told["ts"],
            done_at=None if is_open else told["ts"],
            **told,
        )

    def hook(n: int) -> HookEvent:
        told = {"hook_name": f"hook-{n % 7}", "event_type": "beforeCommit", "duration_ms": n % 900}
        outcome = "fail" if n % 30 == 0 else "ok"
        return HookEvent(outcome=outcome, payload_json="{}", **told, **common(n))

    for make in (decision, mistake, plan, message, review, story, hook):
        for begin in range(0, rows, BATCH):
            batch: list[Any] = [make(n) for n in range(begin, min(begin + BATCH, rows))]
            type(batch[0]).objects.bulk_create(batch)
    for rank in range(1, 6):
        for resolution in ("open", "resolved"):
            count = Review.objects.filter(severity_rank=rank, resolution=resolution).count()
            kind = {"severity_rank": rank, "resolution": resolution, "reviewer_agent": "code-reviewer"}
            ReviewTally.objects.create(project=project, count=count, writes=count, **kind)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


if __name__ == "__main__":
    import django

    os.chdir(ROOT)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "contextdash.settings")
    django.setup()
    fill(int(sys.argv[1]))
