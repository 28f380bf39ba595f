"""Projects and workspaces through the API."""

import pytest

from contextdash import clock
from contextdash.models import Change
from sessions_app.models import Project, Workspace
from tests import factories

pytestmark = pytest.mark.django_db


def test_a_project_gets_a_slug_of_its_name(api):
    made = api.post("projects", name="Ledger Line 2", remote="git@example.org:a/b.git")
    assert made.status_code == 201
    assert made.json()["slug"] == "ledger-line-2"


@pytest.mark.parametrize("name", ["项目", "!!!", "ü" * 200])
def test_a_name_without_latin_letters_gets_a_slug_too(api, name):
    slug = api.post("projects", name=name).json()["slug"]
    assert slug
    assert api.get(f"projects/{slug}").json()["name"] == name


def test_a_taken_slug_is_a_conflict(api):
    api.post("projects", name="Ledgerline")
    assert api.post("projects", name="ledgerline").status_code == 409
    assert api.post("projects", name="Ledgerline", slug="other").status_code == 201


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_bad_name_is_422(api, name):
    assert api.post("projects", name=name).json()["field"] == "name"
    assert Project.objects.count() == 0


def test_a_project_is_found_by_slug_and_number(api):
    project = factories.project("Ledgerline")
    for reference in ("ledgerline", project.pk):
        assert api.get(f"projects/{reference}").json()["name"] == "Ledgerline"
    for reference in ("nothing", "9" * 40, "0"):
        assert api.get(f"projects/{reference}").status_code == 404


def test_a_change_has_a_reason_and_a_version(api):
    factories.project("Ledgerline")
    factories.project("Moss", position=1)
    changed = api.patch(
        "projects/ledgerline", headers={"If-Match": "1"}, name="Ledger", position=3, reason="shorter"
    ).json()
    # There are two: the last place is 1.
    assert (changed["name"], changed["position"], changed["version"]) == ("Ledger", 1, 2)
    assert Change.objects.get(field="name").reason == "shorter"
    assert api.patch("projects/ledgerline", headers={"If-Match": "1"}, name="x").status_code == 412
    assert api.patch("projects/ledgerline", name="").status_code == 422
    assert api.patch("projects/ledgerline", slug="x").status_code == 422


def test_projects_are_listed_in_their_order(api):
    for name, position in (("b", 2), ("a", 3), ("c", 1)):
        factories.project(name, position=position)
    assert [row["slug"] for row in api.get("projects").json()["items"]] == ["c", "b", "a"]


def test_workspaces_are_listed_and_filtered_by_project(api, django_assert_max_num_queries):
    project = factories.project("Ledgerline")
    for root in ("/a", "/b"):
        Workspace.objects.create(host="h", root=root, created_at=clock.now())
    Workspace.objects.create(host="h", root="/c", project=project, created_at=clock.now())
    with django_assert_max_num_queries(5):
        assert len(api.get("workspaces").json()["items"]) == 3
    assert [row["root"] for row in api.get("workspaces", project="ledgerline").json()["items"]] == ["/c"]
