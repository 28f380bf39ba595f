"""People and agents at once, each in a thread with a connection of its own."""

import pytest

from contextdash.actor import SYSTEM
from contextdash.errors import Refused
from contextdash.models import Change
from reviews_app.models import Review
from reviews_app.queries import tallies
from reviews_app.services.reviews import change_review, set_resolution, set_resolution_of_many
from tests.reviews.kit import log

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("each_way_of_writing")]
ROUNDS = 50


def test_state_and_fix_set_at_once_are_both_kept_or_the_second_is_told(together):
    for _ in range(ROUNDS):
        pk = log().pk
        state, fix = together(
            lambda pk=pk: set_resolution(
                review=Review.objects.get(pk=pk), to="resolved", actor=SYSTEM, reason="Done"
            ),
            lambda pk=pk: change_review(
                review=Review.objects.get(pk=pk), values={"suggested_fix": "Do it"}, actor=SYSTEM
            ),
        )
        kept = Review.objects.get(pk=pk)
        refused = [each for each in (state, fix) if isinstance(each, Refused)]
        assert len(refused) < 2
        assert all(each.status in (409, 412) for each in refused)
        assert (kept.resolution == "resolved") is not isinstance(state, Refused)
        assert (kept.suggested_fix == "Do it") is not isinstance(fix, Refused)
        assert Change.objects.filter(row_id=str(pk)).count() == 2 - len(refused)


def test_of_resolve_and_dismiss_at_once_one_wins_and_the_other_is_told(together):
    for _ in range(ROUNDS):
        pk = log().pk
        outcome = together(
            *(
                lambda to=to, pk=pk: set_resolution(
                    review=Review.objects.get(pk=pk), to=to, actor=SYSTEM, reason=to
                )
                for to in ("resolved", "dismissed")
            )
        )
        assert sum(isinstance(each, Refused) for each in outcome) == 1
        change = Change.objects.get(row_id=str(pk))
        assert change.new == change.reason == Review.objects.get(pk=pk).resolution


def test_the_tally_is_right_after_many_writers(together):
    for _ in range(10):
        together(*(lambda n=n: log(severity=("High", "Low")[n % 2]) for n in range(8)))
    ids = list(Review.objects.values_list("pk", flat=True))
    together(
        lambda: set_resolution_of_many(ids=ids[:40], to="resolved", actor=SYSTEM, reason="x"),
        lambda: set_resolution_of_many(ids=ids[:40], to="dismissed", actor=SYSTEM, reason="x"),
    )
    counts = tallies.counts()
    assert {rank: counts.open_by_rank[rank] for rank in (2, 4)} == {
        rank: Review.objects.filter(open_rank=rank).count() for rank in (2, 4)
    }
    assert sum(counts.by_state[state] for state in ("resolved", "dismissed")) == 40
