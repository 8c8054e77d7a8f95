"""What the KubeRay operator makes of a RayCluster, on the local cluster: its head service and its pods.

The RayCluster and the pods are those that the real operator wrote (tests/watched_runs/kuberay/traces, scenario a):
names, labels, owner reference, environment, init container, ``ray start`` command lines, probes. Changed is what
belongs to the machine of the recording: node selector, tolerations, resources. PATH takes the place of the image. No
program runs on this cluster, so its nodes start without what would run it and read its logs.
"""

import copy
from collections.abc import Iterator
from typing import Any, Final

from muster.client import Client
from muster.kinds.ray.raycluster import RAYCLUSTER
from muster.kube.resources import core, custom
from muster.local.cluster import reduced_crd
from tests.watched_runs.kuberay.recorded import recorded

NAMESPACE: Final = "ray"
CLUSTER: Final = "rc-a"
GROUPS: Final = ("headgroup", "small")
"""The groups of the recorded cluster that are run: the head and two workers."""
WITH, WITHOUT = "--num-cpus=1", "--num-cpus=0 --include-log-monitor=false"
CLUSTER_PATH: Final = custom(RAYCLUSTER.api_version, NAMESPACE, RAYCLUSTER.plural, CLUSTER)
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Object = dict[str, Any]


async def install(client: Client) -> None:
    """The namespace, and a CRD with the names of KubeRay's."""
    await client.resources.create(CRDS, reduced_crd(RAYCLUSTER))
    await client.resources.create("/api/v1/namespaces", _object("Namespace", {"name": NAMESPACE}))


async def create_cluster(client: Client) -> Object:
    """Create the RayCluster as its user writes it; what the API server keeps."""
    recording = next(recorded("a").of(RAYCLUSTER.kind)).object
    spec = copy.deepcopy(recording["spec"])
    spec["workerGroupSpecs"] = [each for each in spec["workerGroupSpecs"] if each["groupName"] in GROUPS]
    body = {"apiVersion": RAYCLUSTER.api_version, "kind": RAYCLUSTER.kind, "metadata": {"name": CLUSTER}, "spec": spec}
    return await client.resources.create(CLUSTER_PATH.removesuffix(f"/{CLUSTER}"), body)


async def create_pods(client: Client, cluster: Object, path: str) -> list[str]:
    """Create what the operator creates: the head service, and then each pod. ``path`` is their PATH; their names."""
    await client.resources.create(core(NAMESPACE, "services"), _head_service(cluster))
    names = []
    for pod in _pods(cluster, path):
        await client.resources.create(core(NAMESPACE, "pods"), pod)
        names.append(str(pod["metadata"]["name"]))
    return names


def _pods(cluster: Object, path: str) -> Iterator[Object]:
    seen = set()
    for change in recorded("a").of("Pod"):
        found = change.object["metadata"]
        if found["name"] in seen or found["labels"]["ray.io/group"] not in GROUPS:
            continue
        seen.add(found["name"])
        spec = copy.deepcopy(change.object["spec"])
        for field in ("nodeSelector", "tolerations", "serviceAccountName"):
            spec.pop(field, None)
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            container["resources"] = {"requests": {"cpu": "100m"}}
            container["args"] = [each.replace(WITH, WITHOUT) for each in container["args"]]
            container.setdefault("env", []).append({"name": "PATH", "value": path})
        kept = {key: found[key] for key in ("name", "labels", "annotations") if key in found}
        yield _object("Pod", {**kept, "ownerReferences": _owned(cluster)}, spec)


def _head_service(cluster: Object) -> Object:
    labels = {
        "app.kubernetes.io/created-by": "kuberay-operator",
        "app.kubernetes.io/name": "kuberay",
        "ray.io/cluster": CLUSTER,
        "ray.io/identifier": f"{CLUSTER}-head",
        "ray.io/node-type": "head",
    }
    ports = {"client": 10001, "dashboard": 8265, "gcs-server": 6379, "metrics": 8080}
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": labels,
        "ports": [{"name": name, "port": port, "targetPort": port} for name, port in ports.items()],
    }
    metadata = {"name": f"{CLUSTER}-head-svc", "labels": labels, "ownerReferences": _owned(cluster)}
    return _object("Service", metadata, spec)


def _owned(cluster: Object) -> list[Object]:
    by = {"apiVersion": RAYCLUSTER.api_version, "kind": RAYCLUSTER.kind, "name": CLUSTER}
    return [{**by, "uid": cluster["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}]


def _object(kind: str, metadata: Object, spec: Object | None = None) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **({"spec": spec} if spec is not None else {})}
