"""A call leads to the subagent that it spawned, whichever of the two is told first."""

from collections.abc import Collection

from sessions_app.models import Session, SubagentSpawn, ToolCall


def link_call(parent: Session, call_id: str, child: Session) -> None:
    """The call leads to its child; of a swarm's, to the first. Call it inside the write."""
    ToolCall.objects.filter(session=parent, call_id=call_id, child=None).update(child=child)


def link_calls(parent: Session, call_ids: Collection[str]) -> None:
    """Calls that became known after their spawns lead to the children. Call it inside the write."""
    spawns = SubagentSpawn.objects.filter(parent_session_id=parent.id, tool_call_id__in=call_ids)
    children = dict(spawns.order_by("-claimed_us", "-pk").values_list("tool_call_id", "child_session_id"))
    for child in Session.objects.filter(id__in=children.values()):
        for call_id, child_id in children.items():
            if child_id == child.id:
                link_call(parent, call_id, child)
