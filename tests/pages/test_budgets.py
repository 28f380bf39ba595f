"""What each list page may ask the database, with the frame around it."""

import pytest
from django.test import Client

from tests.seed import seed_demo

pytestmark = pytest.mark.django_db

BUDGETS = {
    "/": 48,
    "/standup/": 34,
    "/standup/?window=14d": 34,
    "/sessions/": 20,
    "/sessions/?state=errored&agent=main&q=the": 17,
    "/handoffs/": 16,
    "/handoffs/?view=stream": 18,
    "/handoffs/?view=acknowledged": 17,
    "/plans/": 16,
    "/decisions/": 18,
    "/mistakes/": 18,
    "/reviews/": 24,
    "/reviews/?state=all&file=src": 24,
    "/reviews/?order=diff": 25,
    "/reviews/trends/": 18,
    "/board/": 28,
    "/board/list/": 31,
    "/hooks/": 19,
    "/usage/": 18,
}
PROJECT_COSTS = 2
"""What a project in the address may add."""


@pytest.mark.parametrize("path", BUDGETS)
def test_a_page_keeps_its_budget(path: str, page: Client, django_assert_max_num_queries):
    seed_demo()
    with django_assert_max_num_queries(BUDGETS[path]):
        assert page.get(path).status_code == 200
    of_project = f"{path}{'&' if '?' in path else '?'}project=parcel-router"
    with django_assert_max_num_queries(BUDGETS[path] + PROJECT_COSTS):
        assert page.get(of_project).status_code == 200
