"""An API server with 500 nodes in 25 racks and 1,000 watched runs, and what may happen to them.

No kubelet and no scheduler runs: what these write into pods and nodes is written here, in their words. A run is two
labelled pods on two nodes of one rack, with 8 GPUs each. Its namespace is that of one of eight teams.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from muster.api.schema.crd import custom_resource_definition
from muster.api.values.timestamps import whole_time
from muster.local.apiserver import ApiServer, WriteOptions
from muster.local.apiserver.objects.write_preparation import DeleteOptions
from muster.local.home import write_kubeconfig
from muster.state.facts.incidents.subjects import LABELS

Object = dict[str, Any]

RACKS, NODES, RUNS, TEAMS, RANKS = 25, 20, 1000, 8, 2
"""Racks, nodes of each, runs, namespaces, and pods of a run."""
CRD_VERSION = "apiextensions.k8s.io/v1"
RACK = LABELS["rack"][0]
STATUS = WriteOptions(subresource="status")
AT_ONCE = DeleteOptions(grace=0)


def node_of(rack: int, number: int) -> str:
    """The name of a node."""
    return f"r{rack:02}-n{number:02}"


def namespace_of(run: int) -> str:
    """The namespace of a run."""
    return f"team-{run % TEAMS}"


def runs_of(rack: int) -> range:
    """The runs of a rack."""
    return range(rack, RUNS, RACKS)


def nodes_of(run: int) -> tuple[str, ...]:
    """The nodes of the members of a run."""
    rack, place = run % RACKS, run // RACKS
    return tuple(node_of(rack, (RANKS * place + rank) % NODES) for rank in range(RANKS))


class Cluster:
    """The API server, and the hands of kubelets, scheduler and node controller."""

    def __init__(self) -> None:
        self.api = ApiServer()
        store = self.api.store
        self._pods, self._nodes = store.resource("v1", "pods"), store.resource("v1", "nodes")
        namespaces = store.resource("v1", "namespaces")
        store.create(store.resource(CRD_VERSION, "customresourcedefinitions"), "", custom_resource_definition())
        for team in range(TEAMS):
            store.create(namespaces, "", {"metadata": {"name": namespace_of(team)}})
        for rack in range(RACKS):
            for number in range(NODES):
                name = node_of(rack, number)
                store.create(self._nodes, "", {"metadata": {"name": name, "labels": {RACK: f"r{rack:02}"}}, "spec": {}})
        for run in range(RUNS):
            self.starts(run)

    async def serve(self, folder: Path) -> Path:
        """Listen; the kubeconfig of the server."""
        file = folder / "kubeconfig"
        write_kubeconfig(file, url=await self.api.start(), token="")
        return file

    def starts(self, run: int) -> None:
        """Its pods run and are ready."""
        for rank, node in enumerate(nodes_of(run)):
            self._create(run, rank, node, running())

    def ends(self, run: int) -> None:
        """Its owner deletes it."""
        for name in _pod_names(run):
            self.api.store.delete(self._pods, namespace_of(run), name, AT_ONCE)

    def cannot_pull(self, run: int, image: str, why: str) -> None:
        """Its pods are made again, and the kubelets cannot pull their image."""
        self.ends(run)
        message = f'Back-off pulling image "{image}": ErrImagePull: failed to pull and unpack image "{image}": {why}'
        for rank, node in enumerate(nodes_of(run)):
            self._create(run, rank, node, waiting("ImagePullBackOff", message), image)

    def finds_no_node(self, run: int, why: str, selector: Mapping[str, str] = {}) -> None:
        """Its pods are made again, and the scheduler finds no node for them."""
        self.ends(run)
        message = f"0/{RACKS * NODES} nodes are available: {why}. preemption: 0/{RACKS * NODES} nodes are available."
        for rank in range(RANKS):
            self._create(run, rank, "", unschedulable(message), selector=selector)

    def loses(self, nodes: Iterable[str]) -> None:
        """The nodes do not answer any more, and the node controller marks their pods as not ready."""
        self._mark(set(nodes), ready=False)

    def returns(self, nodes: Iterable[str]) -> None:
        """The nodes answer again."""
        self._mark(set(nodes), ready=True)

    def labels(self, nodes: Iterable[str], labels: Mapping[str, str]) -> None:
        """Somebody writes labels of nodes."""
        for name in nodes:

            def change(node: Object) -> Object:
                metadata = node["metadata"]
                return {**node, "metadata": {**metadata, "labels": {**metadata["labels"], **labels}}}

            self.api.store.patch(self._nodes, "", name, change)

    def _mark(self, nodes: set[str], *, ready: bool) -> None:
        status = running(ready=ready)
        for run in range(RUNS):
            for name, node in zip(_pod_names(run), nodes_of(run), strict=True):
                if node in nodes:
                    self._write(run, name, status)

    def _create(
        self,
        run: int,
        rank: int,
        node: str,
        status: Object,
        image: str = "registry.example.org/train:1",
        selector: Mapping[str, str] = {},
    ) -> None:
        name = _pod_names(run)[rank]
        labels = {"muster.dev/observe": f"run-{run:03}"}
        metadata = {"name": name, "labels": labels, "annotations": {"muster.dev/size": str(RANKS)}}
        container = {"name": "main", "image": image, "resources": {"limits": {"nvidia.com/gpu": "8"}}}
        spec = {"containers": [container], **({"nodeName": node} if node else {}), "nodeSelector": dict(selector)}
        self.api.store.create(self._pods, namespace_of(run), {"metadata": metadata, "spec": spec})
        self._write(run, name, status)

    def _write(self, run: int, name: str, status: Object) -> None:
        self.api.store.patch(self._pods, namespace_of(run), name, lambda pod: {**pod, "status": status}, STATUS)


def _pod_names(run: int) -> tuple[str, ...]:
    return tuple(f"run-{run:03}-{rank}" for rank in range(RANKS))


def conditions(**known: bool) -> list[Object]:
    """Conditions of a pod, with the time of now."""
    at = whole_time(time.time())
    return [{"type": kind, "status": str(value), "lastTransitionTime": at} for kind, value in known.items()]


def running(*, ready: bool = True) -> Object:
    """The container runs. Not ready: by the node controller, which changes that condition alone."""
    main = {
        "name": "main",
        "ready": True,
        "started": True,
        "state": {"running": {"startedAt": whole_time(time.time())}},
    }
    found = conditions(PodScheduled=True, Initialized=True, ContainersReady=True, Ready=ready)
    return {"phase": "Running", "conditions": found, "containerStatuses": [main]}


def waiting(reason: str, message: str) -> Object:
    """The kubelet cannot start the container."""
    state = {"waiting": {"reason": reason, "message": message}}
    main = {"name": "main", "ready": False, "started": False, "restartCount": 0, "state": state}
    found = conditions(PodScheduled=True, Initialized=True, ContainersReady=False, Ready=False)
    return {"phase": "Pending", "conditions": found, "containerStatuses": [main]}


def unschedulable(message: str) -> Object:
    """No node fits."""
    (condition,) = conditions(PodScheduled=False)
    return {"phase": "Pending", "conditions": [{**condition, "reason": "Unschedulable", "message": message}]}


def nodes(rack: int) -> Iterator[str]:
    """The nodes of a rack."""
    return (node_of(rack, number) for number in range(NODES))
