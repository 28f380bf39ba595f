import json
import zlib
from typing import Any

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

CHUNK = 500
"""Calls whose payloads are in memory at a time."""


def fill(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """The files of the calls that are known already, out of their events."""
    from sessions_app.ingest.files import files_of
    from sessions_app.queries.payloads import input_of

    calls = apps.get_model("sessions_app", "ToolCall").objects.order_by("key")
    events = apps.get_model("sessions_app", "Event").objects
    touched = apps.get_model("sessions_app", "TouchedFile")
    after = 0
    while chunk := list(
        calls.filter(key__gt=after).values_list(
            "key", "session_id", "name", "call_event_id", "result_event_id"
        )[:CHUNK]
    ):
        wanted = [event for *_, call, result in chunk for event in (call, result) if event]
        bodies = dict(events.filter(key__in=wanted).values_list("key", "payload"))
        made = []
        for key, session, name, *told in chunk:
            given = next(
                (found for event in told if (found := input_of(_body(bodies.get(event)))) is not None), None
            )
            made += [
                touched(session_id=session, call_id=key, path=one.path, action=one.action)
                for one in files_of(name, given)
            ]
        touched.objects.bulk_create(made, ignore_conflicts=True)
        after = chunk[-1][0]


def _body(payload: Any) -> dict[str, Any]:
    if payload is None:
        return {}
    try:
        body = json.loads(zlib.decompress(bytes(payload)))
    except (zlib.error, ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0003_ledger_runs_operations")]

    operations = [
        migrations.CreateModel(
            name="TouchedFile",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("path", models.CharField(help_text="As the client sent it.", max_length=500)),
                ("action", models.CharField(max_length=10)),
                (
                    "call",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="sessions_app.toolcall",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.DB_CASCADE,
                        related_name="touched_files",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={
                "db_table": "touched_files",
                "ordering": ["session", "path", "call"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("session", "path", "call", "action"), name="one_touch_per_call_and_file"
                    )
                ],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
