import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backlog_app import ranks
from backlog_app.models import BacklogItem, StoryStatus
from backlog_app.services.moving import move_story
from backlog_app.services.stories import delete_story, restore_story
from contextdash.actor import SYSTEM
from contextdash.errors import Invalid, NotFound, Stale
from contextdash.models import Change
from tests.backlog.factory import column, story

pytestmark = pytest.mark.django_db
BOARD = list(StoryStatus.values)


def test_a_new_story_stands_at_the_bottom_and_a_done_one_at_the_top() -> None:
    first, second = story(), story()
    assert column() == [first.pk, second.pk]
    move_story(story_id=first.pk, to_status="done", actor=SYSTEM)
    move_story(story_id=second.pk, to_status="done", actor=SYSTEM)
    assert column("done") == [second.pk, first.pk]


def test_a_story_is_put_right_after_or_right_before_another() -> None:
    a, b, c, d = (story() for _ in range(4))
    move_story(story_id=d.pk, after_id=a.pk, actor=SYSTEM)
    assert column() == [a.pk, d.pk, b.pk, c.pk]
    move_story(story_id=c.pk, before_id=a.pk, actor=SYSTEM)
    assert column() == [c.pk, a.pk, d.pk, b.pk]
    move_story(story_id=c.pk, to_status="review", actor=SYSTEM)
    move_story(story_id=b.pk, to_status="review", before_id=c.pk, actor=SYSTEM)
    assert column("review") == [b.pk, c.pk]


def test_a_move_to_where_it_stands_changes_nothing() -> None:
    a, b = story(), story()
    before = Change.objects.count()
    assert move_story(story_id=b.pk, after_id=a.pk, actor=SYSTEM).version == 1
    assert move_story(story_id=b.pk, to_status="todo", actor=SYSTEM).version == 1
    assert Change.objects.count() == before


def test_a_stale_move_is_refused_and_says_where_the_story_is_now() -> None:
    a = story()
    move_story(story_id=a.pk, to_status="in_progress", expected_version=1, actor=SYSTEM)
    with pytest.raises(Stale, match="version 2, in In progress"):
        move_story(story_id=a.pk, to_status="review", expected_version=1, actor=SYSTEM)
    assert column("in_progress") == [a.pk]


def test_a_move_beside_a_story_that_left_the_column_is_refused() -> None:
    a, b = story(), story()
    move_story(story_id=a.pk, to_status="review", actor=SYSTEM)
    with pytest.raises(Stale, match="not in that column"):
        move_story(story_id=b.pk, after_id=a.pk, actor=SYSTEM)
    with pytest.raises(Invalid):
        move_story(story_id=b.pk, after_id=b.pk, actor=SYSTEM)
    with pytest.raises(Invalid, match="columns are"):
        move_story(story_id=b.pk, to_status="someday", actor=SYSTEM)


def test_a_deleted_story_does_not_move_and_comes_back_to_its_place() -> None:
    a, b, c = story(), story(), story()
    delete_story(story_id=b.pk, actor=SYSTEM, reason="twice")
    with pytest.raises(NotFound, match="was deleted"):
        move_story(story_id=b.pk, to_status="done", actor=SYSTEM)
    move_story(story_id=c.pk, after_id=a.pk, actor=SYSTEM)
    assert column() == [a.pk, c.pk]
    restore_story(story_id=b.pk, actor=SYSTEM)
    assert sorted(column()) == sorted([a.pk, b.pk, c.pk])


def test_a_crowded_place_is_spread_out_and_keeps_its_order() -> None:
    first, last = story(), story()
    made = []
    for _ in range(200):
        new = story()
        move_story(story_id=new.pk, after_id=first.pk, actor=SYSTEM)
        made.append(new.pk)
    assert column() == [first.pk, *reversed(made), last.pk]
    assert max(len(row.rank) for row in BacklogItem.objects.all()) <= ranks.LONGEST


def test_the_history_tells_status_and_place_with_reason() -> None:
    a, b = story(), story()
    move_story(story_id=b.pk, before_id=a.pk, actor=SYSTEM, reason="urgent")
    move_story(story_id=b.pk, to_status="in_progress", actor=SYSTEM)
    lines = (
        Change.objects.filter(row_id=str(b.pk)).order_by("id").values_list("field", "old", "new", "reason")
    )
    assert list(lines) == [
        ("added", None, "todo", ""),
        ("place", "2", "1", "urgent"),
        ("status", "todo", "in_progress", ""),
    ]


moves = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.sampled_from(BOARD),
        st.sampled_from(["after", "before", "end"]),
        st.integers(0, 7),
    ),
    max_size=25,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves)
def test_interleaved_moves_leave_every_story_in_one_place(
    db: None, moves: list[tuple[int, str, str, int]]
) -> None:
    """Against a plain list that does the same: nothing lost, none twice, one order."""
    BacklogItem.objects.all().delete()
    ids = [story().pk for _ in range(8)]
    model: dict[str, list[int]] = {status: [] for status in BOARD}
    model["todo"] = ids.copy()
    for which, status, how, beside in moves:
        moving, neighbour = ids[which], ids[beside]
        here = next(name for name, stories in model.items() if moving in stories)
        anchored = how != "end" and neighbour in model[status] and neighbour != moving
        if how != "end" and not anchored:
            continue
        if not anchored and status == here:
            continue
        model[here].remove(moving)
        if anchored:
            at = model[status].index(neighbour) + (how == "after")
        else:
            at = 0 if status == "done" else len(model[status])
        model[status].insert(at, moving)
        move_story(
            story_id=moving,
            to_status=status,
            after_id=neighbour if anchored and how == "after" else None,
            before_id=neighbour if anchored and how == "before" else None,
            actor=SYSTEM,
        )
    assert {status: column(status) for status in BOARD} == model
