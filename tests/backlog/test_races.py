"""Many people and agents at once, each in a thread with a connection of its own (bug report 20)."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from backlog_app.models import BacklogItem, StoryComment
from backlog_app.services.moving import claim_next, move_story
from backlog_app.services.relations import comment_on
from backlog_app.services.stories import change_story, delete_story
from contextdash.actor import SYSTEM
from contextdash.errors import NotFound, Refused, Stale
from tests.backlog.factory import column, story

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("each_way_of_writing")]
ROUNDS = 50


def test_state_and_notes_set_at_once_are_both_kept(together: Callable[..., list[Any]]) -> None:
    for _ in range(ROUNDS):
        card = story()
        outcome = together(
            partial(change_story, story_id=card.pk, values={"status": "review"}, actor=SYSTEM),
            partial(change_story, story_id=card.pk, values={"acceptance_criteria": "- noted"}, actor=SYSTEM),
            partial(comment_on, story_id=card.pk, body="seen", actor=SYSTEM),
        )
        assert not any(isinstance(each, Refused) for each in outcome)
        card.refresh_from_db()
        assert (card.status, card.acceptance_criteria) == ("review", "- noted")
        assert StoryComment.objects.filter(story=card).count() == 1


def test_of_two_who_read_the_same_version_the_second_is_told(together: Callable[..., list[Any]]) -> None:
    for _ in range(ROUNDS):
        card = story()
        outcome = together(
            partial(move_story, story_id=card.pk, to_status="review", expected_version=1, actor=SYSTEM),
            partial(move_story, story_id=card.pk, to_status="done", expected_version=1, actor=SYSTEM),
        )
        assert sorted(type(each).__name__ for each in outcome) == ["BacklogItem", "Stale"]
        assert "version 2" in next(each.detail for each in outcome if isinstance(each, Stale))


def test_two_who_drag_in_one_column_lose_no_card(together: Callable[..., list[Any]]) -> None:
    ids = [story().pk for _ in range(6)]
    for turn in range(ROUNDS):
        a, b = ids[turn % 6], ids[(turn + 2) % 6]
        top, bottom = ids[(turn + 4) % 6], ids[(turn + 1) % 6]
        together(
            partial(move_story, story_id=a, before_id=top, actor=SYSTEM),
            partial(move_story, story_id=b, after_id=bottom, actor=SYSTEM),
        )
        assert sorted(column()) == ids
        ranks = list(BacklogItem.objects.values_list("rank", flat=True))
        assert len(set(ranks)) == len(ranks)


def test_a_drag_and_a_delete_of_one_card_both_end(together: Callable[..., list[Any]]) -> None:
    for _ in range(ROUNDS):
        card = story()
        moved, deleted = together(
            partial(move_story, story_id=card.pk, to_status="review", actor=SYSTEM),
            partial(delete_story, story_id=card.pk, actor=SYSTEM),
        )
        assert isinstance(moved, BacklogItem | NotFound)
        assert isinstance(deleted, BacklogItem)
        assert BacklogItem.objects.get(pk=card.pk).deleted_at is not None


def test_two_callers_never_claim_the_same_story(together: Callable[..., list[Any]]) -> None:
    for _ in range(ROUNDS // 5):
        for _ in range(6):
            story()
        outcome = together(*(partial(claim_next, agent=f"agent-{n}", actor=SYSTEM) for n in range(8)))
        claimed = Counter(each.pk for each in outcome if isinstance(each, BacklogItem))
        assert len(claimed) == 6
        assert max(claimed.values()) == 1
        assert sum(isinstance(each, NotFound) for each in outcome) == 2


def test_two_people_and_five_agents_end_in_one_order(together: Callable[..., list[Any]]) -> None:
    ids = [story().pk for _ in range(12)]
    columns = ["todo", "in_progress", "review", "blocked", "done"]
    for turn in range(10):
        together(
            *(
                partial(
                    move_story,
                    story_id=ids[(turn + n) % 12],
                    to_status=columns[(turn * 3 + n) % 5],
                    actor=SYSTEM,
                )
                for n in range(7)
            )
        )
    assert sorted(number for name in columns for number in column(name)) == ids
