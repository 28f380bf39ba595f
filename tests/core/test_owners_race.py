"""However many owners let each other go at once, somebody stays who manages."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from contextdash.actor import Actor
from contextdash.errors import Conflict, Forbidden
from contextdash.models import User
from contextdash.services import invites, signin, users
from contextdash.services.signin import SigninRefused
from tests import factories
from tests.api.racing import closing, serving

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 15


def demote(actor: User, user: User) -> bool:
    with closing(connection):
        try:
            users.change_user(user=user, values={"role": "viewer"}, actor=Actor(user=actor), reason="race")
        except (Conflict, Forbidden):
            return False
        return True


def test_two_owners_who_demote_each_other_leave_one():
    one, two = (factories.user("owner", username=name) for name in ("olga", "omar"))
    with serving(), ThreadPoolExecutor(2) as pool:
        for _ in range(ROUNDS):
            User.objects.filter(pk__in=[one.pk, two.pk]).update(role="owner")
            actors = list(User.objects.filter(pk__in=[one.pk, two.pk]))
            others = [User.objects.get(pk=user.pk) for user in reversed(actors)]
            done = list(pool.map(demote, actors, others))
            assert done.count(True) == 1
            assert User.objects.filter(role="owner", is_active=True).count() == 1


def test_one_link_lets_one_of_two_in():
    owner = factories.user("owner", username="olga")
    member = factories.user("member", username="mia")

    def use(secret: str) -> bool:
        with closing(connection):
            try:
                return signin.use_link(secret=secret) == member
            except SigninRefused:
                return False

    with serving(), ThreadPoolExecutor(2) as pool:
        for _ in range(ROUNDS):
            secret = invites.link_for(user=member, actor=Actor(user=owner))
            assert list(pool.map(use, [secret, secret])).count(True) == 1
