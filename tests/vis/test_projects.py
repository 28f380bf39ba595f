"""Projects and the order of their sessions: no gaps, nobody lost, nobody taken from another project."""

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextdash.actor import SYSTEM
from contextdash.errors import Conflict, Invalid, Stale
from contextdash.models import Change
from sessions_app.models import Project, ProjectPlace, Session, UsageBucket
from sessions_app.queries import places
from sessions_app.services.projects import (
    change_project,
    create_project,
    delete_project,
    order_projects,
    order_sessions,
)
from sessions_app.services.sessions import change_session, ensure_session
from tests import factories

pytestmark = pytest.mark.django_db

NAMES = ("a", "b")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.sampled_from((*NAMES, None)), st.none()),
        st.tuples(st.just("move"), st.sampled_from((*NAMES, None)), st.integers(0, 9)),
        st.tuples(st.just("order"), st.sampled_from(NAMES), st.lists(st.integers(0, 9), max_size=5)),
        st.tuples(st.just("delete"), st.sampled_from(NAMES), st.none()),
    ),
    max_size=14,
)


class Model:
    """What a project holds, as a plain list of ids."""

    def __init__(self) -> None:
        self.rows: dict[str, Project] = {name: factories.project(name) for name in NAMES}
        self.lists: dict[str, list[str]] = {name: [] for name in NAMES}
        self.all: list[str] = []

    def begin(self, name: str | None, _: None) -> None:
        made, _new = ensure_session(
            session_id=f"s{len(self.all)}", project=self.rows.get(name or ""), actor=SYSTEM
        )
        self.all.append(made.id)
        if name in self.rows:
            self.lists[name].append(made.id)

    def move(self, name: str | None, which: int) -> None:
        if not self.all:
            return
        session_id = self.all[which % len(self.all)]
        wanted = self.rows.get(name or "")
        home = next((one for one, members in self.lists.items() if session_id in members), None)
        change_session(session=Session.objects.get(id=session_id), values={"project": wanted}, actor=SYSTEM)
        if home == name and wanted is not None:
            return
        if home is not None:
            self.lists[home].remove(session_id)
        if wanted is not None and name is not None:
            self.lists[name].append(session_id)

    def order(self, name: str, which: list[int]) -> None:
        if name not in self.rows or not self.all:
            return
        named = list(dict.fromkeys(self.all[one % len(self.all)] for one in which))
        foreign = {one for other, members in self.lists.items() if other != name for one in members}
        sessions = [Session.objects.get(id=one) for one in named]
        if foreign & set(named):
            with pytest.raises(Conflict), transaction.atomic():
                order_sessions(project=self.rows[name], sessions=sessions, actor=SYSTEM)
            return
        order_sessions(project=self.rows[name], sessions=sessions, actor=SYSTEM)
        self.lists[name] = [*named, *(one for one in self.lists[name] if one not in named)]

    def delete(self, name: str, _: None) -> None:
        if name in self.rows:
            delete_project(project=self.rows.pop(name), reason="over", actor=SYSTEM)
            self.lists.pop(name)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_the_order_of_sessions_is_that_of_plain_lists_after_any_steps(db, steps):
    with transaction.atomic():
        model = Model()
        for verb, name, told in steps:
            getattr(model, verb)(name, told)
            for known, project in model.rows.items():
                assert places.ordered_ids(project) == model.lists[known]
                stored = list(ProjectPlace.objects.filter(project=project).values_list("position", flat=True))
                assert stored == list(range(len(stored)))
        unfiled = set(Session.objects.filter(project=None).values_list("id", flat=True))
        assert unfiled == set(model.all) - {one for members in model.lists.values() for one in members}
        transaction.set_rollback(True)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 7)), max_size=6), st.lists(st.integers(0, 4)))
def test_projects_stand_where_they_were_put_without_gaps(db, moves, order):
    with transaction.atomic():
        made = [create_project(name=f"p{number}", actor=SYSTEM) for number in range(5)]
        expected = [project.slug for project in made]
        for which, place in moves:
            project = Project.objects.get(pk=made[which].pk)
            change_project(project=project, values={"position": place}, actor=SYSTEM)
            expected.remove(project.slug)
            expected.insert(min(place, 4), project.slug)
        order_projects(projects=[made[one] for one in order], actor=SYSTEM)
        named = list(dict.fromkeys(made[one].slug for one in order))
        expected = [*named, *(slug for slug in expected if slug not in named)]
        rows = list(Project.objects.order_by("position").values_list("slug", "position"))
        assert rows == [(slug, number) for number, slug in enumerate(expected)]
        transaction.set_rollback(True)


def test_a_deleted_project_scatters_its_members_and_keeps_its_sums(owner):
    project, other = (create_project(name=name, actor=SYSTEM) for name in ("one", "two"))
    session, _ = ensure_session(session_id="s", project=project, actor=SYSTEM)
    UsageBucket.objects.create(
        start_us=0, project_key=project.pk, client="c", agent="a", model="m", requests=3
    )
    with pytest.raises(Invalid):
        delete_project(project=project, reason="", actor=SYSTEM)
    with pytest.raises(Stale):
        delete_project(project=project, reason="over", expected_version=7, actor=SYSTEM)
    delete_project(project=project, reason="over", actor=SYSTEM)
    session.refresh_from_db()
    other.refresh_from_db()
    assert (session.project, other.position) == (None, 0)
    assert UsageBucket.objects.get().requests == 3
    told = Change.objects.get(noun="projects", field="deleted")
    assert (told.new, told.reason) == ("one", "over")


def test_subagents_and_deleted_sessions_have_no_place(db):
    project = create_project(name="one", actor=SYSTEM)
    parent, _ = ensure_session(session_id="parent", project=project, actor=SYSTEM)
    child = factories.session("child", parent=parent, project=project)
    with pytest.raises(Invalid, match="goes with its parent"):
        order_sessions(project=project, sessions=[child], actor=SYSTEM)
    gone = factories.session("gone", project=project)
    order_sessions(project=project, sessions=[gone, parent], actor=SYSTEM)
    Session.objects.filter(id="gone").update(deleted_at=gone.started_at)
    assert places.ordered_ids(project) == ["parent"]
    with pytest.raises(Conflict):
        order_sessions(project=project, sessions=[Session.objects.get(id="gone")], actor=SYSTEM)


def test_people_arrange_projects_and_sessions_by_buttons_and_by_dragging(page, member):
    for name in ("one", "two", "three"):
        create_project(name=name, actor=SYSTEM)
    page.post("/settings/projects/order/", {"move": "three", "by": "up"})
    assert [one.project.slug for one in places.listed(archived=False)] == ["one", "three", "two"]
    answer = page.post("/settings/projects/order/", {"order": ["two", "one", "three"], "bare": "1"})
    assert answer.status_code == 204
    page.post("/settings/projects/two/archive/", {"archived": "1"})
    assert [one.project.slug for one in places.listed(archived=False)] == ["one", "three"]
    assert "two" not in page.get("/").content.decode().split("All projects")[1].split("</details>")[0]
    for number in range(3):
        page.post("/settings/projects/one/add/", {"session": factories.session(f"sess-{number}").id})
    page.post("/settings/projects/one/sessions/", {"move": "sess-2", "by": "first"})
    page.post("/settings/projects/one/remove/", {"session": "sess-0"})
    assert places.ordered_ids(Project.objects.get(slug="one")) == ["sess-2", "sess-1"]
    page.post("/settings/projects/one/change/", {"name": "Uno", "color": "#12ab34", "version": "1"})
    shown = page.get("/settings/projects/one/page/").content.decode()
    assert "Uno" in shown
    assert 'fill="#12ab34"' in shown
    stale = page.post("/settings/projects/one/change/", {"name": "Eins", "version": "1"})
    assert stale.status_code == 412
    page.post("/settings/projects/one/delete/", {"reason": "done with it"})
    assert not Project.objects.filter(slug="one").exists()
    assert Session.objects.count() == 3


def test_a_colour_is_drawn_only_where_it_is_one(page):
    create_project(name="one", color="url(//evil)", actor=SYSTEM)
    create_project(name="two", color="teal", actor=SYSTEM)
    shown = page.get("/settings/projects/").content.decode()
    assert 'fill="teal"' in shown
    assert "evil" not in shown


def test_the_pages_of_projects_ask_few_questions_however_many_there_are(page, django_assert_max_num_queries):
    for number in range(40):
        project = create_project(name=f"p{number}", actor=SYSTEM)
        factories.session(project=project)
    with django_assert_max_num_queries(20):
        page.get("/settings/projects/")
    for _ in range(30):
        factories.session(project=project)
    with django_assert_max_num_queries(22):
        page.get(f"/settings/projects/{project.slug}/page/")


def test_a_name_keeps_nothing_that_moves_a_terminal_or_reorders_text(page, api):
    told = "\x1b[31mKiln\x1b[0m \x1b]8;;javascript:alert(1)\x07yard\x1b]8;;\x07 \u202egpj"
    made = api.post("projects", name=told).json()
    assert made["name"] == "Kiln yard [U+202E]gpj"
    changed = api.patch(f"projects/{made['slug']}", name=f"New {told}").json()
    assert changed["name"] == "New Kiln yard [U+202E]gpj"
    assert api.post("projects", name="\x1b[31m").status_code == 422
    api.post(
        "hooks/claude-code",
        session_id="s-9",
        hook_event_name="SessionStart",
        source="startup",
        cwd="/srv/\x1b[31mkiln\x1b[0m",
        headers={"X-Contextdash-Root": "%2Fsrv%2F%1B%5B31mkiln%1B%5B0m"},
    )
    assert b"\x1b" not in page.get("/").content
