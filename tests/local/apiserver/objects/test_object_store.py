"""Create, get, update and delete, and the metadata that the server sets."""

import base64

import pytest

from tests.local.apiserver.harness import CONFIGS, CRDS, WIDGET_SCHEMA, WIDGETS, Api, config, definition, widget


async def test_a_created_object_gets_uid_version_and_creation_time(api: Api) -> None:
    made = await api.create(CONFIGS, config("one", a="b"))
    meta = made["metadata"]
    assert made["kind"] == "ConfigMap"
    assert made["apiVersion"] == "v1"
    assert meta["namespace"] == "default"
    assert meta["uid"]
    assert meta["resourceVersion"].isdigit()
    assert meta["creationTimestamp"] == "2026-09-21T14:13:20Z"
    assert await api.get(f"{CONFIGS}/one") == made


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (f"{CONFIGS}/none", 'configmaps "none" not found'),
        ("/apis/batch/v1/namespaces/default/jobs/none", 'jobs.batch "none" not found'),
        ("/api/v1/namespaces/default/unknowns", "the server could not find the requested resource"),
        ("/apis/none.example.com/v1/things", "the server could not find the requested resource"),
    ],
)
async def test_a_missing_object_or_resource_is_not_found(api: Api, path: str, message: str) -> None:
    status, body = await api.call("GET", path)
    assert (status, body["kind"], body["reason"], body["message"]) == (404, "Status", "NotFound", message)


async def test_a_create_needs_an_existing_namespace_and_a_valid_name(api: Api) -> None:
    status, body = await api.call("POST", "/api/v1/namespaces/nowhere/configmaps", config("one"))
    assert (status, body["message"]) == (404, 'namespaces "nowhere" not found')
    status, body = await api.call("POST", CONFIGS, config("Not_A_Name"))
    assert (status, body["reason"]) == (422, "Invalid")
    assert body["details"]["causes"][0]["field"] == "metadata.name"
    assert 'ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name"' in body["message"]


async def test_generate_name_gives_different_names(api: Api) -> None:
    body = {"metadata": {"generateName": "run-"}}
    names = {(await api.create(CONFIGS, body))["metadata"]["name"] for _ in range(5)}
    assert len(names) == 5
    assert all(name.startswith("run-") and len(name) == 9 for name in names)


async def test_a_stale_update_conflicts_and_an_equal_one_keeps_the_version(api: Api) -> None:
    first = await api.create(CONFIGS, config("one", a="1"))
    status, second = await api.call("PUT", f"{CONFIGS}/one", {**first, "data": {"a": "2"}})
    assert status == 200
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
    status, body = await api.call("PUT", f"{CONFIGS}/one", {**first, "data": {"a": "3"}})
    assert (status, body["reason"]) == (409, "Conflict")
    assert "please apply your changes to the latest version" in body["message"]
    status, third = await api.call("PUT", f"{CONFIGS}/one", second)
    assert (status, third) == (200, second)


async def test_an_update_with_another_uid_conflicts(api: Api) -> None:
    await api.create(CONFIGS, config("one"))
    body = config("one", a="1")
    body["metadata"]["uid"] = "another"
    status, answer = await api.call("PUT", f"{CONFIGS}/one", body)
    assert (status, answer["reason"]) == (409, "Conflict")
    assert "UID in precondition: another" in answer["message"]


async def test_generation_counts_changes_of_the_spec_only(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    made = await api.create(WIDGETS, widget("w"))
    assert made["metadata"]["generation"] == 1
    labelled = await api.patch(f"{WIDGETS}/w", {"metadata": {"labels": {"a": "b"}}})
    assert labelled["metadata"]["generation"] == 1
    reported = await api.patch(f"{WIDGETS}/w/status", {"status": {"phase": "Busy"}, "spec": {"size": 3}})
    assert (reported["metadata"]["generation"], reported["spec"]["size"]) == (1, 1)
    resized = await api.patch(f"{WIDGETS}/w", {"spec": {"size": 2}, "status": {"phase": "Idle"}})
    assert (resized["metadata"]["generation"], resized["status"]["phase"]) == (2, "Busy")


async def test_delete_checks_its_preconditions(api: Api) -> None:
    made = await api.create(CONFIGS, config("one"))
    for wrong in ({"uid": "another"}, {"resourceVersion": "1"}):
        status, body = await api.call("DELETE", f"{CONFIGS}/one", {"preconditions": wrong})
        assert (status, body["reason"]) == (409, "Conflict")
    right = {"uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]}
    status, body = await api.call("DELETE", f"{CONFIGS}/one", {"kind": "DeleteOptions", "preconditions": right})
    assert (status, body["metadata"]["uid"]) == (200, made["metadata"]["uid"])
    assert (await api.call("GET", f"{CONFIGS}/one"))[0] == 404


async def test_an_object_with_finalizers_is_removed_with_the_last_one(api: Api) -> None:
    body = config("held")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await api.create(CONFIGS, body)
    status, marked = await api.call("DELETE", f"{CONFIGS}/held")
    assert status == 200
    assert marked["metadata"]["deletionTimestamp"]
    status, body = await api.call(
        "PATCH",
        f"{CONFIGS}/held",
        {"metadata": {"finalizers": ["example.com/hold", "a.b/c"]}},
        kind="application/merge-patch+json",
    )
    assert status == 422
    await api.patch(f"{CONFIGS}/held", {"metadata": {"finalizers": None}})
    assert (await api.call("GET", f"{CONFIGS}/held"))[0] == 404


async def test_a_node_is_created_with_its_status(api: Api) -> None:
    made = await api.create("/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": 4}}})
    assert made["status"]["capacity"] == {"cpu": "4"}


async def test_string_data_of_a_secret_is_encoded(api: Api) -> None:
    made = await api.create("/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert (made["data"], made["type"]) == ({"a": base64.b64encode(b"b").decode()}, "Opaque")
    assert "stringData" not in made
