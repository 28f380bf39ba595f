"""Files of every client while they are written, cut short, replaced, broken, moved; killed imports."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.importers import clients, documents, files, intake
from sessions_app.importers.files import Place, import_file
from sessions_app.importers.lines import record_of
from sessions_app.ingest.reading import encode
from sessions_app.models import Event, ImportSource, Iteration, Quarantined, Session, ToolCall
from tests.imports.test_joining import projections

pytestmark = pytest.mark.django_db

DATA = Path(__file__).parent.parent / "data" / "transcripts"
HERE = Place(host="desk")
FILES = {
    "claude": next((DATA / "claude").rglob("e8a1b3c4*.jsonl")),
    "codex": min((DATA / "codex").rglob("*.jsonl")),
    "gemini": next((DATA / "gemini").rglob("*3f2a9c1d.jsonl")),
    "gemini document": next((DATA / "gemini").rglob("session-*.json")),
    "copilot": next((DATA / "copilot").rglob("*.jsonl")),
}
each = pytest.mark.parametrize("client", FILES)


def lay(client: str, folder: Path) -> Path:
    """A copy with the same names around it: they mean something."""
    home = FILES[client]
    path = folder / home.parent.parent.name / home.parent.name / home.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    for beside in home.parent.glob("*.yaml"):
        shutil.copy(beside, path.parent)
    return path


def told() -> dict[str, Any]:
    """What people see, but for when turns ended: while a file grows, an answer may look like the last."""
    return {noun: rows for noun, rows in projections().items() if noun not in ("runs", "usage")}


def at_once(client: str) -> dict[str, Any]:
    with transaction.atomic():
        import_file(FILES[client], place=HERE)
        found = told()
        transaction.set_rollback(True)
    return found


@each
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_read_while_it_is_written_it_tells_the_same(
    tmp_path_factory: pytest.TempPathFactory, client: str, cuts: list[float]
) -> None:
    wanted = at_once(client)
    raw = FILES[client].read_bytes()
    path = lay(client, tmp_path_factory.mktemp("live"))
    with transaction.atomic():
        for cut in (*sorted(cuts), 1.0):
            path.write_bytes(raw[: int(len(raw) * cut)])
            import_file(path, place=HERE)
        assert told() == wanted
        transaction.set_rollback(True)


@each
def test_a_second_time_and_from_an_archive_nothing_is_new(client: str, tmp_path: Path) -> None:
    path = lay(client, tmp_path)
    shutil.copy(FILES[client], path)
    import_file(path, place=HERE)
    before = (projections(), Event.objects.count())
    assert import_file(path, place=HERE).unchanged
    archive = tmp_path / "archive" / path.parent.parent.name / path.parent.name / path.name
    archive.parent.mkdir(parents=True)
    path.rename(archive)
    assert import_file(archive, place=HERE).events == 0
    assert (projections(), Event.objects.count()) == before


@each
def test_cut_short_and_replaced_it_is_read_anew(client: str, tmp_path: Path) -> None:
    path, raw = lay(client, tmp_path), FILES[client].read_bytes()
    path.write_bytes(raw)
    import_file(path, place=HERE)
    before = told()
    path.write_bytes(raw[: len(raw) // 2])
    import_file(path, place=HERE)
    assert told() == before
    path.unlink()
    path.write_bytes(b"\n" + raw)  # another file at the same place, that tells the same
    import_file(path, place=HERE)
    assert told() == before


@each
def test_a_killed_import_goes_on(client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = at_once(client)
    path = lay(client, tmp_path)
    shutil.copy(FILES[client], path)
    monkeypatch.setattr(files, "PART_BYTES", 1)
    store, stored = intake.Intake.store, 0

    def dies(self: intake.Intake, *args: Any) -> None:
        nonlocal stored
        store(self, *args)
        stored += 1
        if stored % 2 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(intake.Intake, "store", dies)
    for _ in range(1000):
        try:
            if import_file(path, place=HERE).unchanged:
                break
        except KeyboardInterrupt:
            continue
    assert stored > 2
    assert told() == wanted
    assert ImportSource.objects.get().offset <= path.stat().st_size


@pytest.mark.parametrize("client", [name for name in FILES if name != "gemini document"])
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0.05, 0.95), rubbish=st.binary(min_size=1, max_size=80))
def test_rubbish_in_the_middle_is_counted_and_the_rest_is_read(
    tmp_path_factory: pytest.TempPathFactory, client: str, where: float, rubbish: bytes
) -> None:
    lines = FILES[client].read_bytes().splitlines(keepends=True)
    path = lay(client, tmp_path_factory.mktemp("broken"))
    rubbish = b"{" + rubbish.replace(b"\n", b"").replace(b"}", b"")
    place = 1 + int(len(lines) * where) % (len(lines) - 1)
    path.write_bytes(b"".join([*lines[:place], rubbish + b"\n", *lines[place:]]))
    wanted = at_once(client)
    with transaction.atomic():
        import_file(FILES[client], place=HERE)
        known = ImportSource.objects.get().skipped
        transaction.set_rollback(True)
    with transaction.atomic():
        import_file(path, place=HERE)
        assert told() == wanted
        source = ImportSource.objects.get()
        assert source.skipped == known + 1
        assert Quarantined.objects.filter(import_source=source).count() == source.skipped
        transaction.set_rollback(True)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def twisted(draw: st.DrawFn) -> tuple[str, list[Any]]:
    """The records of a file, with anything where anything may stand."""
    client = draw(st.sampled_from([name for name in FILES if name != "gemini document"]))
    known = [record_of(line) for line in FILES[client].read_bytes().splitlines()]
    records: list[Any] = draw(
        st.lists(st.sampled_from([one for one in known if one]), min_size=1, max_size=6)
    )
    return client, [_twist(draw, one, 0) for one in records]


def _twist(draw: st.DrawFn, value: Any, depth: int) -> Any:
    if draw(st.integers(0, 9)) == 0:
        return draw(values)
    if isinstance(value, dict):
        return {key: _twist(draw, one, depth + 1) for key, one in value.items() if draw(st.integers(0, 12))}
    if isinstance(value, list):
        return [_twist(draw, one, depth + 1) for one in value]
    return value


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(made=twisted())
def test_no_record_breaks_an_import(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[str, list[Any]]
) -> None:
    client, records = made
    path = lay(client, tmp_path_factory.mktemp("twisted"))
    begin = FILES[client].read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(begin + b"\n".join(encode(one) for one in records) + b"\n")
    with transaction.atomic():
        import_file(path, place=HERE)
        assert ImportSource.objects.get().offset == path.stat().st_size
        transaction.set_rollback(True)


@settings(max_examples=40, deadline=None)
@given(
    cut=st.integers(0, 3000),
    junk=st.binary(max_size=12),
    chunk=st.integers(2, 300),
)
def test_documents_give_their_messages_whatever_is_in_them(
    cut: int, junk: bytes, chunk: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    raw = FILES["gemini document"].read_bytes()
    raw = raw[:cut] + junk + raw[cut:] if junk else raw
    path = tmp_path_factory.mktemp("documents") / "session-x.json"
    path.write_bytes(raw)
    kept, documents._CHUNK = documents._CHUNK, chunk
    try:
        with path.open("rb") as file:
            pieces = list(documents.messages(file, 0, {}))
    finally:
        documents._CHUNK = kept
    assert pieces
    assert pieces[-1].end == len(raw)
    assert [piece.end for piece in pieces] == sorted(piece.end for piece in pieces)
    if not junk:
        ids = [record["id"] for piece in pieces if (record := record_of(piece.raw)) and "id" in record]
        assert len(ids) == 3


@pytest.mark.parametrize("client", ["gemini", "copilot", "codex", "claude"])
def test_a_line_that_is_too_long_is_counted_and_the_rest_is_read(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = at_once(client)
    monkeypatch.setattr("sessions_app.importers.lines.LINE_BYTES", 200_000)
    lines = FILES[client].read_bytes().splitlines(keepends=True)
    path = lay(client, tmp_path)
    path.write_bytes(b"".join([lines[0], b'{"x": "' + b"y" * 2_000_000 + b'"}\n', *lines[1:]]))
    import_file(path, place=HERE)
    assert told() == wanted
    assert Quarantined.objects.filter(reason="too_large").count() == 1


def test_a_file_tells_whose_it_is() -> None:
    for name, path in FILES.items():
        assert clients.client_of(path).startswith(name.partition(" ")[0])
    assert Session.objects.count() == Iteration.objects.count() == ToolCall.objects.count() == 0
