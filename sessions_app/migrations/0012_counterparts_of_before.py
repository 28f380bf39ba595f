"""Turns and calls that hooks told before they could be paired get their counterparts."""

from django.db import migrations

from contextdash.ids import digest16

CLIENTS = ("gemini", "copilot")


def pair(apps, schema_editor):
    Session, Turn, ToolCall, Counterpart = (
        apps.get_model("sessions_app", name) for name in ("Session", "Turn", "ToolCall", "Counterpart")
    )
    for key in Session.objects.filter(client__in=CLIENTS).values_list("key", flat=True).iterator():
        if Counterpart.objects.filter(session_id=key).exists():
            continue
        made = [
            Counterpart(
                session_id=key,
                noun="turn",
                about=digest16(b"prompt", turn.prompt.strip().encode("utf-8", "replace")),
                row_id=turn.turn_id,
                at_us=turn.started_us,
                began=True,
            )
            for turn in Turn.objects.filter(session_id=key).exclude(prompt="").order_by("number")
        ]
        made += [
            Counterpart(
                session_id=key,
                noun="call",
                about=digest16(b"call", call.name.encode(), call.summary.encode(), b"%d" % call.input_size),
                row_id=call.call_id,
                at_us=call.started_us,
                began=call.call_event_id is not None,
                ended=call.result_event_id is not None,
            )
            for call in ToolCall.objects.filter(session_id=key).order_by("started_us", "key")
        ]
        Counterpart.objects.bulk_create(made, batch_size=500)


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0011_counterparts_and_uploads"),
    ]

    operations = [
        migrations.RunPython(pair, migrations.RunPython.noop, elidable=True),
    ]
