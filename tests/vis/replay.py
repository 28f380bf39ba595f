"""A store of another system, written through our services as its client would write it."""

import base64
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from contextdash.actor import SYSTEM
from sessions_app.models import Iteration, Project, Run, Session, Turn, Workspace
from sessions_app.services.aggregates import Address, put_aggregate
from sessions_app.services.attachments import Sent, add_attachment
from sessions_app.services.copies import fork_through
from sessions_app.services.forks import fork_session
from sessions_app.services.iterations import write_iteration
from sessions_app.services.ledger import change_run, open_run, open_turn
from sessions_app.services.logs import write_logs
from sessions_app.services.projects import create_project, order_sessions
from sessions_app.services.retries import retry_turn
from sessions_app.services.routing import add_routing
from sessions_app.services.run_details import tell_run
from sessions_app.services.sessions import change_session, ensure_session
from sessions_app.services.warm import prefer_model, warm_up
from sessions_app.services.workspaces import focus_workspace, tell_workspace

FILE = Path(__file__).parent.parent / "data" / "vis" / "clean.json"
STATUS = {"done": "completed", "error": "failed", "interrupted": "interrupted", "running": "running"}
COPIES = {
    "bad81706-0043-434c-9aae-792d98a719f5": "ac505b8b-0963-46fc-a77e-8522e74298b1",
    "3b327092-b249-4d50-b271-a7dd5e406ab0": "c30f6122-a43f-4049-bd25-4bf9473ff812",
}
"""Sessions that were forked at a turn, and of what: the store itself does not say."""


@cache
def tables() -> dict[str, list[dict[str, Any]]]:
    told = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
        for name, table in told.items()
    }


@dataclass
class Replayed:
    """Our rows by the ids of the store."""

    projects: dict[str, Project] = field(default_factory=dict)
    workspaces: dict[str, Workspace] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    calls: dict[str, Iteration] = field(default_factory=dict)
    versions: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Of a state: session and version."""


def replay() -> Replayed:
    made = Replayed()
    _places(made)
    for soul in tables()["session_soul"]:
        if soul["id"] not in COPIES:
            _session(made, soul)
    for copy, source in COPIES.items():
        _copy(made, copy, source)
    _order(made)
    _beside(made)
    return made


def rows_of(name: str, **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in tables()[name] if all(row[key] == value for key, value in wanted.items())]


def _places(made: Replayed) -> None:
    for row in tables()["project"]:
        made.projects[row["id"]] = create_project(
            name=row["name"], color=row["color"] or "", root=row["workspace_root"] or "", actor=SYSTEM
        )
    for row in tables()["workspace"]:
        values = {
            "repo": row["repo_id"],
            "kind": row["workspace_kind"],
            "state": row["state"],
            "label": row["label"] or "",
            "mechanism": row["workspace_mechanism"] or "",
            "forked_us": row["fork_ms"] and row["fork_ms"] * 1000,
        }
        if row["parent_workspace_id"]:
            values["parent"] = made.workspaces.get(row["parent_workspace_id"]) or _place_of(row)
        made.workspaces[row["id"]], _ = tell_workspace(
            root=row["root"], values=values, created_us=row["created_at"] * 1000, actor=SYSTEM
        )
    for row in tables()["repo_focus"]:
        if made.workspaces[row["workspace_id"]].state == "active":
            focus_workspace(workspace=made.workspaces[row["workspace_id"]], actor=SYSTEM)


def _place_of(row: dict[str, Any]) -> Workspace:
    (parent,) = rows_of("workspace", id=row["parent_workspace_id"])
    return tell_workspace(root=parent["root"], actor=SYSTEM)[0]


def _session(made: Replayed, soul: dict[str, Any]) -> None:
    session, _ = ensure_session(session_id=soul["id"], actor=SYSTEM, told={"client": "vis"})
    if soul["claimed_at"] is None:
        warm_up(session=session, actor=SYSTEM)
    if soul["parent_state_id"]:
        (above,) = rows_of("session_state", id=soul["parent_state_id"])
        Session.objects.filter(key=session.key).update(parent=made.sessions[above["session_soul_id"]])
    states = sorted(rows_of("session_state", session_soul_id=soul["id"]), key=lambda row: row["version"])
    for state in states:
        if state["version"]:
            fork_session(
                session=session,
                title=state["title"],
                provider=state["llm_root_provider"],
                model=state["llm_root_model"],
                actor=SYSTEM,
            )
        made.versions[state["id"]] = (soul["id"], state["version"])
        for turn in sorted(rows_of("session_turn_soul", session_state_id=state["id"]), key=_position):
            _turn(made, soul["id"], turn)
        if state["title"]:
            session.refresh_from_db()
            change_session(session=session, values={"title": state["title"]}, actor=SYSTEM)
    made.sessions[soul["id"]] = Session.objects.get(key=session.key)
    _prefer(made, soul)


def _turn(made: Replayed, session_id: str, row: dict[str, Any]) -> None:
    turn, _ = open_turn(
        session_id=session_id,
        turn_id=row["id"],
        prompt=row["user_request"],
        started_us=row["created_at"] * 1000,
        actor=SYSTEM,
    )
    made.turns[row["id"]] = turn
    runs = rows_of("session_turn_state", session_turn_soul_id=row["id"])
    for told in sorted(runs, key=lambda run: run["version"]):
        run = (
            retry_turn(turn=turn, actor=SYSTEM)
            if told["version"]
            else open_run(turn=turn, run_id=told["id"], actor=SYSTEM)[0]
        )
        made.runs[told["id"]] = run
        calls = rows_of("session_turn_iteration", session_turn_state_id=told["id"])
        for call in sorted(calls, key=_position):
            made.calls[call["id"]] = _call(run, call)
        tell_run(
            run=run,
            values={
                "content": json.loads(told["content_json"]),
                "prior_outcome": told["prior_outcome"] or "",
                "provider": told["llm_root_provider"] or "",
                "model": told["llm_root_model"] or "",
                **{name: told[name] for name in ("ctx", "error") if told[name] is not None},
            },
            actor=SYSTEM,
        )
        run.refresh_from_db()
        change_run(run=run, values={"status": STATUS[told["status"]]}, actor=SYSTEM)


def _call(run: Run, row: dict[str, Any]) -> Iteration:
    known = row["input_tokens"] is not None
    return write_iteration(
        run=run,
        values={
            "response_id": row["id"],
            "provider": row["llm_actual_provider"],
            "model": row["llm_actual_model"],
            "thinking": row["llm_thinking"],
            "prose": row["llm_assistant_prose"],
            "input_tokens": row["input_regular_tokens"] if known else None,
            "cache_read_tokens": row["input_cache_read_tokens"],
            "cache_write_5m_tokens": row["input_cache_write_tokens"],
            "output_tokens": row["output_tokens"],
            "cost_micro": None if row["cost_usd"] is None else round(row["cost_usd"] * 1_000_000),
        },
        started_us=(row["created_at"] - (row["llm_full_duration_ms"] or 0)) * 1000,
        ended_us=row["created_at"] * 1000,
        actor=SYSTEM,
    )[0]


def _copy(made: Replayed, copy: str, source: str) -> None:
    """As its client forked it: through the source's turn that the last copied one is like."""
    turns = copied_turns(copy)
    through = next(
        row
        for row in rows_of("session_turn_soul")
        if made.turns.get(row["id"])
        and made.turns[row["id"]].session_id == made.sessions[source].key
        and (row["created_at"], row["user_request"]) == (turns[-1]["created_at"], turns[-1]["user_request"])
    )
    _add_files(made, [source])
    made.sessions[copy] = fork_through(
        session=made.sessions[source],
        turn_key=made.turns[through["id"]].key,
        session_id=copy,
        actor=SYSTEM,
    )
    known = {row["id"] for row in turns}
    (state,) = rows_of("session_state", session_soul_id=copy)
    for turn in sorted(rows_of("session_turn_soul", session_state_id=state["id"]), key=_position):
        if turn["id"] not in known:
            _turn(made, copy, turn)
    (soul,) = rows_of("session_soul", id=copy)
    _prefer(made, soul)


def copied_turns(copy: str) -> list[dict[str, Any]]:
    """The turns of a copy that its source has as well."""
    (state,) = rows_of("session_state", session_soul_id=copy)
    sources = {row["id"] for row in rows_of("session_state", session_soul_id=COPIES[copy])}
    known = {
        (row["created_at"], row["user_request"])
        for row in tables()["session_turn_soul"]
        if row["session_state_id"] in sources
    }
    own = sorted(rows_of("session_turn_soul", session_state_id=state["id"]), key=_position)
    return [row for row in own if (row["created_at"], row["user_request"]) in known]


def _prefer(made: Replayed, soul: dict[str, Any]) -> None:
    if soul["llm_pref_model"]:
        prefer_model(
            session=made.sessions[soul["id"]],
            provider=soul["llm_pref_provider"],
            model=soul["llm_pref_model"],
            actor=SYSTEM,
        )


def _order(made: Replayed) -> None:
    for project_id, project in made.projects.items():
        members = sorted(
            rows_of("session_soul", project_id=project_id), key=lambda row: row["project_position"]
        )
        # A copy begins in its source's project, so only those that are elsewhere have to join.
        order_sessions(project=project, sessions=[made.sessions[row["id"]] for row in members], actor=SYSTEM)


def _add_files(made: Replayed, souls: list[str]) -> None:
    for row in tables()["session_attachment"]:
        turn = made.turns.get(row["session_turn_soul_id"])
        if turn is None or turn.session.id not in souls:
            continue
        call = made.calls.get(row["session_turn_iteration_id"])
        add_attachment(
            session_id=turn.session.id,
            sent=Sent(
                data=None if row["bytes"] is None else base64.b64decode(row["bytes"]["base64"]),
                storage_uri=row["storage_uri"] or "",
                filename=row["filename"] or "",
                media_type=row["media_type"],
                kind=row["kind"],
                audience=row["audience"],
                turn_id=turn.key,
                iteration_id=call.key if call else None,
                call_id=row["tool_call_id"] or "",
                position=row["position"],
                size=row["size_bytes"],
                transcription=row["transcription"] or "",
                attachment_id=row["id"],
                created_us=row["created_at"] * 1000,
            ),
            actor=SYSTEM,
        )


def _beside(made: Replayed) -> None:
    _add_files(made, list(made.sessions))
    for row in tables()["llm_routing_event"]:
        call = made.calls[row["session_turn_iteration_id"]]
        told = json.loads(row["event_json"])
        names = ("provider", "model", "from_provider", "from_model", "to_provider", "to_model", "status")
        add_routing(
            iteration=call,
            events=[
                {
                    "type": row["event_type"],
                    "data": {"scope": told["scope"]} if "scope" in told else {},
                    "at_us": row["at_ms"] and row["at_ms"] * 1000,
                    **{
                        name: row[name]
                        for name in (
                            *names,
                            "reason",
                            "error",
                            "attempt",
                            "delay_ms",
                            "elapsed_ms",
                            "position",
                        )
                    },
                }
            ],
            actor=SYSTEM,
        )
    for row in tables()["extension_aggregate"]:
        put_aggregate(
            address=Address(row["extension_id"], row["kind"], row["aggregate_key"], _scope(made, row)),
            content=row["content"],
            index_data=row["index_data"] and json.loads(row["index_data"]),
            actor=SYSTEM,
        )
    write_logs(lines=[_line(made, row) for row in tables()["log"]], actor=SYSTEM)


def _scope(made: Replayed, row: dict[str, Any]) -> str:
    if row["session_turn_iteration_id"]:
        call = made.calls[row["session_turn_iteration_id"]]
        return f"iteration:{call.key}/block:{row['session_turn_iteration_block_index']}"
    if row["session_state_id"]:
        session, version = made.versions[row["session_state_id"]]
        return f"state:{session}/{version}"
    return f"session:{row['session_soul_id']}" if row["session_soul_id"] else "global"


def _line(made: Replayed, row: dict[str, Any]) -> dict[str, Any]:
    data = row["data"] and json.loads(row["data"])
    run = made.runs.get(row["session_turn_state_id"])
    call = made.calls.get(row["session_turn_iteration_id"])
    return {
        "level": row["level"],
        "event": row["event"],
        "message": (data or {}).get("msg", ""),
        "data": data,
        "session_id": row["session_soul_id"],
        "run_id": run.key if run else None,
        "iteration_id": call.key if call else None,
        "at_us": row["created_at"] * 1000,
    }


def _position(row: dict[str, Any]) -> int:
    return int(row["position"])
