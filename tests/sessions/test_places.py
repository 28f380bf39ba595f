"""Folders, remotes and hosts of any length and alphabet find a place on every database."""

import random

import pytest

from sessions_app.ingest.observation import Outcome
from sessions_app.models import Project, Session, Workspace
from tests.sessions.deliveries import body, deliver, seen

pytestmark = pytest.mark.django_db


def noise(chars: int, first: int, last: int) -> str:
    """Text that no database can compress."""
    picked = random.Random(chars)  # noqa: S311
    return "".join(chr(picked.randint(first, last)) for _ in range(chars))


@pytest.mark.parametrize(("first", "last"), [(0x61, 0x7A), (0x4E00, 0x9FFF), (0x20000, 0x2A6D0)])
def test_a_place_of_any_length_and_alphabet_is_kept(first: int, last: int) -> None:
    text = noise(6000, first, last)
    sent = body("SessionStart") | {"cwd": f"/{text}"}
    outcome = deliver(seen(sent, host=text[:300], remote=f"git@example.org:{text}", branch=text[:300]))
    assert outcome == [Outcome.ACCEPTED]
    place, session = Workspace.objects.get(), Session.objects.get()
    assert session.workspace == place.root == f"/{text}"[: len(place.root)]
    assert session.project == Project.objects.get() == place.project


def test_a_project_with_a_longer_root_is_refused_by_name(api) -> None:
    answer = api.post("projects", name="moss", root=noise(501, 0x61, 0x7A))
    assert answer.status_code == 422
    assert answer.json()["field"] == "root"
