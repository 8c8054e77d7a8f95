"""Pods end gracefully, their specs stand, and what an owner leaves behind is collected."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from muster.local.apiserver import ApiServer
from tests.local.apiserver.storykit import (
    CONFIGS,
    CRDS,
    PODS,
    WIDGET_SCHEMA,
    WIDGETS,
    Api,
    config,
    definition,
    pod,
    widget,
)


async def bound(api: Api, name: str, **spec: Any) -> dict[str, Any]:
    await api.create(PODS, pod(name, **spec))
    assert (await api.call("POST", f"{PODS}/{name}/binding", {"target": {"name": "n"}}))[0] == 201
    return await api.get(f"{PODS}/{name}")


async def test_a_running_pod_gets_its_grace_and_the_node_has_the_last_word(api: Api) -> None:
    await bound(api, "p", terminationGracePeriodSeconds=5)
    status, marked = await api.call("DELETE", f"{PODS}/p")
    assert status == 200
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 5
    assert marked["metadata"]["deletionTimestamp"] == "2026-09-21T14:13:25Z"
    again = (await api.call("DELETE", f"{PODS}/p?gracePeriodSeconds=60"))[1]
    assert again["metadata"]["deletionGracePeriodSeconds"] == 5
    status, last = await api.call("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    assert (status, last["metadata"]["name"]) == (200, "p")
    assert (await api.call("GET", f"{PODS}/p"))[0] == 404


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_finished_pod_needs_no_grace(api: Api, phase: str) -> None:
    await bound(api, "p")
    await api.patch(f"{PODS}/p/status", {"status": {"phase": phase}})
    await api.call("DELETE", f"{PODS}/p")
    assert (await api.call("GET", f"{PODS}/p"))[0] == 404


async def test_an_evicted_pod_says_so(api: Api) -> None:
    await bound(api, "p")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert (await api.call("POST", f"{PODS}/p/eviction", eviction))[0] == 201
    left = await api.get(f"{PODS}/p")
    assert left["metadata"]["deletionTimestamp"]
    assert "DisruptionTarget" in {c["type"] for c in left["status"]["conditions"]}


async def test_a_pod_gets_the_defaults_of_kubernetes(api: Api) -> None:
    made = await api.create(PODS, pod("p"))
    spec, main = made["spec"], made["spec"]["containers"][0]
    assert (spec["restartPolicy"], spec["terminationGracePeriodSeconds"], spec["dnsPolicy"]) == (
        "Always",
        30,
        "ClusterFirst",
    )
    assert (main["imagePullPolicy"], main["terminationMessagePath"]) == ("IfNotPresent", "/dev/termination-log")
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


async def test_a_pod_spec_stands(api: Api) -> None:
    made = await api.create(PODS, pod("p"))
    main = made["spec"]["containers"][0]
    allowed = {
        "spec": {
            "containers": [{**main, "image": "busybox:2"}],
            "activeDeadlineSeconds": 9,
            "tolerations": [{"operator": "Exists"}],
        }
    }
    assert (await api.patch(f"{PODS}/p", allowed))["spec"]["containers"][0]["image"] == "busybox:2"
    change: dict[str, Any]
    for change in (
        {"containers": [{**main, "command": ["false"]}]},
        {"nodeName": "n"},
        {"restartPolicy": "Never"},
        {"activeDeadlineSeconds": 10},
        {"tolerations": []},
    ):
        status, body = await api.call("PATCH", f"{PODS}/p", {"spec": change}, kind="application/merge-patch+json")
        assert (status, body["reason"]) == (422, "Invalid"), change


async def test_gates_open_one_way(api: Api) -> None:
    made = await api.create(PODS, pod("p", schedulingGates=[{"name": "a.b/c"}]))
    assert made["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert (await api.call("POST", f"{PODS}/p/binding", {"target": {"name": "n"}}))[0] == 409
    await api.patch(f"{PODS}/p", {"spec": {"schedulingGates": None, "nodeSelector": {"a": "b"}}})
    status, _ = await api.call(
        "PATCH", f"{PODS}/p", {"spec": {"schedulingGates": [{"name": "d"}]}}, kind="application/merge-patch+json"
    )
    assert status == 422


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ({"containers": []}, 422, "spec.containers: Required value"),
        ({"containers": [{"image": "i"}]}, 422, "spec.containers[0].name"),
        ({"containers": [{"name": "a"}]}, 422, "spec.containers[0].image: Required value"),
        ({"containers": [{"name": "A_", "image": "i"}]}, 422, "spec.containers[0].name: Invalid value"),
        ({"containers": [{"name": "a", "image": "i"}] * 2}, 422, 'spec.containers[1].name: Duplicate value: "a"'),
        (
            {"containers": [{"name": "a", "image": "i", "ports": [{"containerPort": "80"}]}]},
            400,
            "cannot unmarshal string",
        ),
        (
            {"containers": [{"name": "a", "image": "i", "ports": [{"containerPort": 99999}]}]},
            422,
            "between 1 and 65535",
        ),
        (
            {"containers": [{"name": "a", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]},
            422,
            "Not found",
        ),
        ({"restartPolicy": "Maybe"}, 422, 'spec.restartPolicy: Unsupported value: "Maybe"'),
        ({"activeDeadlineSeconds": 0}, 422, "spec.activeDeadlineSeconds"),
        ({"terminationGracePeriodSeconds": -1}, 422, "spec.terminationGracePeriodSeconds"),
        ({"hostname": "not.a.label"}, 422, "spec.hostname"),
        ({"priorityClassName": "none"}, 403, "no PriorityClass with name none was found"),
    ],
)
async def test_a_wrong_pod_is_told_what_is_wrong(api: Api, change: dict[str, Any], code: int, told: str) -> None:
    status, body = await api.call("POST", PODS, pod("p", **change))
    assert status == code, body
    assert told in body["message"]


async def test_quantities_may_be_numbers(api: Api) -> None:
    container = {"name": "a", "image": "i", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}
    made = await api.create(PODS, pod("p", containers=[container]))
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2", "memory": "1Gi"}
    assert made["status"]["qosClass"] == "Guaranteed"


async def test_unknown_fields_are_refused_warned_of_or_dropped(api: Api) -> None:
    body = pod("p", comand=["x"])
    status, answer = await api.call("POST", f"{PODS}?fieldValidation=Strict", body)
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert 'unknown field "spec.comand"' in answer["message"]
    async with api.session.post(f"{api.base}{PODS}?fieldValidation=Warn", json=body) as response:
        assert response.headers["Warning"] == '299 - "unknown field \\"spec.comand\\""'
        assert "comand" not in (await response.json())["spec"]


async def test_services_get_addresses_and_keep_them(api: Api) -> None:
    path = "/api/v1/namespaces/default/services"
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    made = await api.create(path, body)
    assert made["spec"]["clusterIP"].startswith("10.96.")
    assert made["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    headless = await api.create(
        path, {"metadata": {"name": "h"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}}
    )
    assert headless["spec"]["clusterIPs"] == ["None"]
    status, kept = await api.call("PUT", f"{path}/s", body)
    assert (status, kept["spec"]["clusterIP"]) == (200, made["spec"]["clusterIP"])
    status, body = await api.call("POST", path, {"metadata": {"name": "t"}, "spec": {}})
    assert (status, body["details"]["causes"][0]["field"]) == (422, "spec.ports")
    assert (await api.call("POST", path, {"metadata": {"name": "9t"}, "spec": {"ports": [{"port": 1}]}}))[0] == 422


def owned(name: str, owner: dict[str, Any], **reference: Any) -> dict[str, Any]:
    body = config(name)
    meta = owner["metadata"]
    kind = {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], **reference}
    body["metadata"]["ownerReferences"] = [kind]
    return body


async def test_dependents_follow_their_owner(api: Api) -> None:
    owner = await api.create(CONFIGS, config("owner"))
    child = await api.create(CONFIGS, owned("child", owner))
    await api.create(CONFIGS, owned("grandchild", child))
    await api.call("DELETE", f"{CONFIGS}/owner")
    await api.gone(f"{CONFIGS}/grandchild")
    assert (await api.get(CONFIGS))["items"] == []


async def test_in_the_foreground_the_owner_goes_last(api: Api) -> None:
    owner = await api.create(CONFIGS, config("owner"))
    stuck = owned("child", owner, blockOwnerDeletion=True)
    stuck["metadata"]["finalizers"] = ["a.b/c"]
    await api.create(CONFIGS, stuck)
    status, marked = await api.call("DELETE", f"{CONFIGS}/owner", {"propagationPolicy": "Foreground"})
    assert (status, marked["metadata"]["finalizers"]) == (200, ["foregroundDeletion"])
    stream = await api.watch(CONFIGS)
    while not (await stream.next())[1]["metadata"].get("deletionTimestamp"):
        pass
    stream.close()
    assert (await api.call("GET", f"{CONFIGS}/owner"))[0] == 200
    await api.patch(f"{CONFIGS}/child", {"metadata": {"finalizers": None}})
    stream = await api.watch(CONFIGS)
    while (await api.call("GET", f"{CONFIGS}/owner"))[0] == 200:
        await stream.next()
    stream.close()
    assert (await api.call("GET", f"{CONFIGS}/child"))[0] == 404


async def test_orphans_stay(server: ApiServer, api: Api) -> None:
    owner = await api.create(CONFIGS, config("owner"))
    await api.create(CONFIGS, owned("child", owner))
    stream = await api.watch(f"{CONFIGS}?fieldSelector=metadata.name%3Downer")
    await api.call("DELETE", f"{CONFIGS}/owner?propagationPolicy=Orphan")
    while (await stream.next())[0] != "DELETED":
        pass
    stream.close()
    assert "ownerReferences" not in (await api.get(f"{CONFIGS}/child"))["metadata"]


async def test_an_object_born_after_its_owner_died_is_collected(api: Api) -> None:
    owner = await api.create(CONFIGS, config("owner"))
    await api.call("DELETE", f"{CONFIGS}/owner")
    stream = await api.watch(CONFIGS)
    await api.create(CONFIGS, owned("late", owner))
    assert [(await stream.next())[0], (await stream.next())[0]] == ["ADDED", "DELETED"]
    stream.close()


async def test_a_second_owner_keeps_it(api: Api) -> None:
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


async def test_a_namespace_is_drained_and_then_goes(api: Api) -> None:
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


async def test_the_first_namespaces_stay(api: Api) -> None:
    status, body = await api.call("DELETE", "/api/v1/namespaces/default")
    assert (status, body["message"]) == (403, 'namespaces "default" is forbidden: this namespace may not be deleted')
    await api.patch("/api/v1/namespaces/default", {"spec": {"finalizers": []}})
    assert (await api.get("/api/v1/namespaces/default"))["spec"]["finalizers"] == ["kubernetes"]


async def test_a_crd_takes_its_objects_along(api: Api) -> None:
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


class Spoken:
    """Container output that has been written down."""

    async def read(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        previous: bool,
        follow: bool,
        tail: int | None,
        since: float | None,
        timestamps: bool,
    ) -> AsyncIterator[bytes]:
        if previous:
            raise FileNotFoundError(container)
        for word in ("one", "two", "three")[-(tail or 3) :]:
            stamp = "2026-09-21T14:13:20.000000000Z " if timestamps else ""
            yield f"{stamp}{container} says {word}\n".encode()


async def test_logs_come_from_the_node(server: ApiServer, api: Api) -> None:
    two = pod("p")
    two["spec"]["containers"].append({"name": "side", "image": "side:1"})
    await api.create(PODS, two)
    assert (await api.call("GET", f"{PODS}/p/log?container=main"))[0] == 503
    server.pod_logs = Spoken()
    assert await api.call("GET", f"{PODS}/p/log?container=main&tailLines=1") == (200, b"main says three\n")
    status, text = await api.call("GET", f"{PODS}/p/log?container=side&timestamps=true&limitBytes=31")
    assert (status, text) == (200, b"2026-09-21T14:13:20.000000000Z ")
    status, body = await api.call("GET", f"{PODS}/p/log")
    assert (status, body["message"]) == (
        400,
        "a container name must be specified for pod p, choose one of: [main side]",
    )
    assert (await api.call("GET", f"{PODS}/p/log?container=none"))[0] == 400
    assert (await api.call("GET", f"{PODS}/p/log?container=main&previous=true"))[0] == 400
    assert (await api.call("GET", f"{PODS}/none/log"))[0] == 404
