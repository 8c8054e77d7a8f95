"""Dependents of deleted owners, contents of deleted namespaces and objects of deleted CRDs are collected."""

from typing import Any

from tests.local.apiserver.harness import CONFIGS, CRDS, WIDGET_SCHEMA, WIDGETS, Api, config, definition, pod, widget


def owned(name: str, owner: dict[str, Any], **reference: Any) -> dict[str, Any]:
    body = config(name)
    meta = owner["metadata"]
    kind = {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], **reference}
    body["metadata"]["ownerReferences"] = [kind]
    return body


async def test_dependents_of_a_deleted_owner_are_deleted(api: Api) -> None:
    owner = await api.create(CONFIGS, config("owner"))
    child = await api.create(CONFIGS, owned("child", owner))
    await api.create(CONFIGS, owned("grandchild", child))
    await api.call("DELETE", f"{CONFIGS}/owner")
    await api.gone(f"{CONFIGS}/grandchild")
    assert (await api.get(CONFIGS))["items"] == []


async def test_an_object_created_after_its_owner_was_deleted_is_collected(api: Api) -> None:
    owner = await api.create(CONFIGS, config("owner"))
    await api.call("DELETE", f"{CONFIGS}/owner")
    stream = await api.watch(CONFIGS)
    await api.create(CONFIGS, owned("late", owner))
    assert [(await stream.next())[0], (await stream.next())[0]] == ["ADDED", "DELETED"]
    stream.close()


async def test_an_object_with_a_second_owner_stays(api: Api) -> None:
    one, two = await api.create(CONFIGS, config("one")), await api.create(CONFIGS, config("two"))
    child = owned("child", one)
    child["metadata"]["ownerReferences"] += owned("child", two)["metadata"]["ownerReferences"]
    await api.create(CONFIGS, child)
    stream = await api.watch(f"{CONFIGS}?fieldSelector=metadata.name%3Dchild")
    await stream.next()
    await api.call("DELETE", f"{CONFIGS}/one")
    kind, left = await stream.next()
    stream.close()
    assert kind == "MODIFIED"
    assert [r["name"] for r in left["metadata"]["ownerReferences"]] == ["two"]


async def test_a_namespace_is_removed_after_its_contents(api: Api) -> None:
    await api.create("/api/v1/namespaces", {"metadata": {"name": "team"}})
    inside = "/api/v1/namespaces/team"
    await api.create(f"{inside}/configmaps", config("a"))
    await api.create(f"{inside}/pods", pod("p"))
    assert (await api.call("POST", f"{inside}/pods/p/binding", {"target": {"name": "n"}}))[0] == 201
    stream = await api.watch("/api/v1/namespaces?fieldSelector=metadata.name%3Dteam")
    await stream.next()
    status, marked = await api.call("DELETE", inside)
    assert (status, marked["status"]["phase"]) == (200, "Terminating")
    status, body = await api.call("POST", f"{inside}/configmaps", config("b"))
    assert (status, body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    assert (await stream.next())[0] == "MODIFIED"
    assert (await api.get(f"{inside}/pods/p"))["metadata"]["deletionTimestamp"]
    await api.call("DELETE", f"{inside}/pods/p?gracePeriodSeconds=0")
    assert (await stream.next())[0] == "DELETED"
    stream.close()
    assert (await api.call("GET", inside))[0] == 404


async def test_deleting_a_crd_deletes_its_objects(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    await api.create(WIDGETS, widget("w"))
    stream = await api.watch(CRDS)
    await stream.next()
    await api.call("DELETE", f"{CRDS}/widgets.example.com")
    while (await stream.next())[0] != "DELETED":
        pass
    stream.close()
    assert (await api.call("GET", WIDGETS))[0] == 404
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    assert (await api.get(WIDGETS))["items"] == []
