"""Of two sessions that begin alike the one that went on first is the source, whichever is imported first."""

from itertools import permutations
from pathlib import Path

import pytest

from sessions_app.importers.files import Place, import_file
from sessions_app.models import Iteration, Session
from tests.imports.lines import SESSION, prompt, response, says, write

pytestmark = pytest.mark.django_db

FORK = "22222222-2222-4333-8444-555555555555"
HERE = Place(host="desk")


def files(folder: Path, *, source_goes_on: bool) -> dict[str, Path]:
    shared = [
        prompt("Boil water.", "2026-11-20T10:00:00Z", turn="p1"),
        response("m1", "2026-11-20T10:00:05Z", says("Done."), output_tokens=10),
    ]
    own = [
        prompt("And tea.", "2026-11-20T10:05:00Z", turn="p2"),
        response("m2", "2026-11-20T10:05:05Z", says("Tea."), output_tokens=20),
    ]
    other = [
        prompt("Coffee instead.", "2026-11-20T11:00:00Z", turn="p3"),
        response("m3", "2026-11-20T11:00:05Z", says("Coffee."), output_tokens=40),
    ]
    source = write(folder, *shared, *(own if source_goes_on else []))
    copied = [{**one, "sessionId": FORK} for one in (*shared, *other)]
    return {SESSION: source, FORK: write(folder, *copied, session=FORK)}


@pytest.mark.parametrize("order", list(permutations([SESSION, FORK])))
def test_the_fork_points_to_its_source(tmp_path: Path, order: tuple[str, ...]) -> None:
    given = files(tmp_path, source_goes_on=True)
    for name in order:
        import_file(given[name], place=HERE)
    source, fork = Session.objects.get(id=SESSION), Session.objects.get(id=FORK)
    assert (source.forked_from, fork.forked_from) == (None, source)
    assert Iteration.objects.count() == 3
    assert source.output_tokens + fork.output_tokens == 70


def test_a_fork_of_a_session_that_ended_there(tmp_path: Path) -> None:
    given = files(tmp_path, source_goes_on=False)
    for name in (SESSION, FORK):
        import_file(given[name], place=HERE)
    assert Session.objects.get(id=FORK).forked_from == Session.objects.get(id=SESSION)
