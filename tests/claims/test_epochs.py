"""Workspaces opened at a commit, and the capabilities of the ledger."""

import json
from typing import Any

import pytest

from sessions_app.models import Capability, WorkspaceEpoch, WorkspaceHead, WorkspaceVersion

pytestmark = pytest.mark.django_db

EPOCH = {
    "workspace_id": "workspace_1",
    "workspace_epoch_id": "epoch_1",
    "repository_id": "repository_1",
    "workspace_instance_id": "instance_1",
    "object_format": "sha1",
    "source_commit_oid": "d" * 40,
    "source_tree_oid": "7" * 40,
    "initial_workspace_version_id": "version_1",
    "materialization_profile_digest": "sha256:" + "1" * 64,
    "policy_hash": "sha256:" + "2" * 64,
    "tree_delta_digest": "sha256:" + "3" * 64,
    "changed_file_count": 12,
}


def test_an_epoch_is_opened_once_with_its_baseline_and_head(api):
    first = api.post("epochs", EPOCH)
    assert first.status_code == 201, first.content
    made = first.json()
    assert made["head"] == {
        "workspace_version_id": "version_1",
        "commit_oid": "d" * 40,
        "tree_oid": "7" * 40,
        "revision": 1,
    }
    (version,) = made["versions"]
    assert (version["origin_kind"], version["parents"], version["changed_file_count"]) == ("baseline", [], 12)
    again = api.post("epochs", EPOCH)
    assert (again.status_code, again.json()) == (200, made)
    assert api.get("epochs/epoch_1").json() == made
    assert WorkspaceEpoch.objects.count() == WorkspaceVersion.objects.count() == 1
    assert WorkspaceHead.objects.get().revision == 1


@pytest.mark.parametrize(
    "told",
    [
        {"source_commit_oid": "e" * 40},
        {"changed_file_count": 13},
        {"workspace_id": "workspace_2"},
        {"opened_event_id": "another"},
    ],
)
def test_other_input_for_the_same_epoch_is_a_conflict_that_names_it(api, told):
    api.post("epochs", EPOCH)
    answer = api.post("epochs", {**EPOCH, **told})
    assert (answer.status_code, answer.json()["error"]) == (409, "epoch_conflict")
    assert answer.json()["field"] == next(iter(told))


@pytest.mark.parametrize("shared", ["workspace_instance_id", "initial_workspace_version_id"])
def test_instances_and_versions_belong_to_one_epoch(api, shared):
    api.post("epochs", EPOCH)
    other = {name: value.replace("_1", "_2") for name, value in EPOCH.items() if str(value).endswith("_1")}
    answer = api.post("epochs", {**EPOCH, **other, shared: EPOCH[shared]})
    assert (answer.status_code, answer.json()["error"]) == (409, "epoch_conflict")
    assert WorkspaceEpoch.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("object_format", "md5"),
        ("source_commit_oid", "d" * 64),
        ("source_tree_oid", "G" * 40),
        ("mode", "shared"),
        ("materialization_semantics", "other"),
        ("policy_hash", "2" * 64),
        ("changed_file_count", -1),
        ("deleted_file_count", 1),
        ("workspace_id", ""),
        ("surprise", "x"),
    ],
)
def test_what_no_baseline_has_is_refused_by_name(api, field, value):
    answer = api.post("epochs", {**EPOCH, field: value})
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert not WorkspaceEpoch.objects.exists()


def test_epochs_are_listed_newest_first_by_workspace(api, django_assert_max_num_queries):
    for number in (1, 2, 3):
        told = {
            name: value.replace("_1", f"_{number}") for name, value in EPOCH.items() if "_1" in str(value)
        }
        api.post("epochs", {**EPOCH, **told, "workspace_id": f"workspace_{number % 2}"})
    with django_assert_max_num_queries(4):
        rows = api.get("epochs", workspace="workspace_1").json()["items"]
    assert [row["workspace_epoch_id"] for row in rows] == ["epoch_3", "epoch_1"]
    assert api.get("epochs/nothing").status_code == 404


def put(api: Any, name: str, version: int) -> Any:
    return api.client.put(
        f"/api/v1/capabilities/{name}",
        json.dumps({"version": version}),
        content_type="application/json",
        headers=api.headers,
    )


def test_capabilities_of_the_server_hold_and_others_are_kept_for_information(api, make_api):
    spoken = api.get("capabilities").json()["items"]
    assert [(row["version"], row["required"]) for row in spoken] == [(1, True)] * 3
    assert put(api, "runtime_recovery_authority", 1).status_code == 200
    refused = put(api, "runtime_recovery_authority", 2)
    assert (refused.status_code, refused.json()["error"]) == (409, "unsupported_version")
    for version in (3, 2):
        assert put(api, "client_sketches", version).json()["version"] == 3
    assert put(api, "client_sketches", 0).status_code == 422
    assert put(make_api("read"), "client_sketches", 4).status_code == 403
    named = {row["capability"]: row for row in api.get("capabilities").json()["items"]}
    assert named["client_sketches"]["required"] is False
    assert Capability.objects.count() == 2
