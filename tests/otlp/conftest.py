import pytest

from contextdash.actor import Actor
from contextdash.models import User
from contextdash.services.tokens import create_token
from tests.otlp.sending import Exporter


@pytest.fixture
def exporter(member: User) -> Exporter:
    _, secret = create_token(owner=member, name="telemetry", scope="ingest", actor=Actor(user=member))
    return Exporter(secret)
