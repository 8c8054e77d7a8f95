"""The nodes of the plans: the stand-in of ``make real`` runs the pods, which are bound here and wait for their gang.

A member works once all of its gang run. It fails as its scenario states, and then the others abort, or hang until they
are deleted; in epochs in which none fails all succeed.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Iterator

from muster.api.errors import ApiError
from muster.api.names import LABEL_EPOCH, LABEL_RANK, LABEL_UID
from muster.kube.resources import ResourceClient
from muster.local.node.objects import NODES, pod_path
from tests.faults.recorder import Object
from tests.real.nodes.standin import GO_ON, LABEL, StandIn
from tests.scenarios.incidents import Fails
from tests.scenarios.operators import SIGABRT
from tests.scenarios.scenario import Scenario

NODE = "node-0"
WORK = 0.4
"""Seconds from a gang that runs to its success or failure."""
FIRST = 1
"""Seconds by which a failure was before the end of those that abort for it: kubelets date ends by the second."""


def script(scenario: Scenario, size: int) -> str:
    """What the pods of a scenario pretend (``tests.real.nodes.script``); ``hold`` lasts until the kubelet ends it."""
    return "\n".join(_lines(scenario, size))


def _lines(scenario: Scenario, size: int) -> Iterator[str]:
    fails = _fails(scenario)
    for each in fails:
        ends = f"hold, run {WORK}, exit {each.code}, late {FIRST}"
        yield from (f"rank={each.rank % size} epoch={epoch}: {ends}" for epoch in each.epochs)
    yield from (f"epoch={epoch}: hold, exit {SIGABRT}" for each in fails for epoch in each.epochs)
    yield f"*: hold, run {WORK}, exit 0"


def _fails(scenario: Scenario) -> list[Fails]:
    return [each for each in scenario.incidents if isinstance(each, Fails)]


class Kubelet:
    """The owner passes it every change of a pod, and the task group for its tasks."""

    def __init__(self, api: ResourceClient, tasks: asyncio.TaskGroup) -> None:
        self._api = api
        self._tasks = tasks
        self._orders: dict[str, tuple[int, Scenario]] = {}
        self._gangs = defaultdict[tuple[str, int], dict[int, str]](dict)
        """By experiment and epoch: the paths of the pods that run or have run, by rank."""

    async def begin(self) -> None:
        """Make the node, and run its kubelet for as long as the task group lasts."""
        await self._api.create(NODES, {"metadata": {"name": NODE, "labels": {LABEL: "plenty"}}})
        self.running = self._tasks.create_task(StandIn(self._api).run(), name="stand-in")

    def expect(self, namespace: str, size: int, scenario: Scenario) -> None:
        """Set size and scenario of the gangs of a namespace."""
        self._orders[namespace] = (size, scenario)

    def changed(self, kind: str, pod: Object) -> None:
        """A pod was created, changed or removed."""
        metadata, labels = pod["metadata"], pod["metadata"]["labels"]
        order = self._orders.get(metadata["namespace"])
        if order is None or kind == "DELETED":
            return
        (size, scenario), path = order, pod_path(pod)
        if kind == "ADDED":
            target = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": NODE}}
            self._do(self._api.create(f"{path}/binding", target))
        epoch, rank, phase = int(labels[LABEL_EPOCH]), int(labels[LABEL_RANK]), pod["status"].get("phase")
        gang = self._gangs[labels[LABEL_UID], epoch]
        fail = {each.rank % size for each in _fails(scenario) if epoch in each.epochs}
        if phase == "Running" and rank not in gang:
            gang[rank] = path
            if len(gang) == size:
                self._let_go(gang[each] for each in fail or gang)
        elif phase == "Failed" and rank in fail and scenario.survivors == "abort":
            self._let_go(gang.values())

    def _let_go(self, paths: Iterable[str]) -> None:
        for path in list(paths):
            self._do(self._api.merge(path, {"metadata": {"annotations": {LABEL: GO_ON}}}))

    def _do(self, request: Awaitable[object]) -> None:
        """Send a request for a pod that may be gone already."""

        async def send() -> None:
            try:
                await request
            except ApiError:
                return

        self._tasks.create_task(send(), name="kubelet")
