"""``python -m tests.real.nodes.standin --kubeconfig FILE``: kubelets of nodes with the label ``muster.dev/stand-in``.

They keep the nodes Ready, and make the pods that the real scheduler binds to them do what their command asks (see
``script``), writing each status as a kubelet would. No process is behind a pod, so there can be thousands.

A node with the annotation ``muster.dev/stand-in: cut-off`` is a machine that lost its network: no Lease, no status, no
deletion is answered. A pod with the annotation ``muster.dev/stand-in: go-on`` goes on behind ``hold`` in its script.
"""

import argparse
import asyncio
import contextlib
import itertools
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from muster.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from muster.api.names import CONTAINER
from muster.kube.authentication.kubeconfig import KubeConfig
from muster.kube.connection import Connection
from muster.kube.listwatch.informer import Informer
from muster.kube.resources import ResourceClient
from muster.local.node import objects
from muster.local.node.containers import states
from muster.local.node.containers.states import ContainerRecord
from muster.local.node.objects import LEASES, NODES, PODS, Object, micro_time, pod_path, whole_time
from muster.local.node.pods.status_writer import PodState, pod_status
from tests.real.nodes.script import Step, steps

LABEL = "muster.dev/stand-in"
PODS_LABEL = "muster.dev/stand-in-pods"
"""How many pods the node takes."""
CUT_OFF = "cut-off"
GO_ON = "go-on"
RENEW_SECONDS = 3.0
STARTED = 0.2
"""Seconds from a binding to a running container."""
OBEY = 0.2
"""Seconds from SIGTERM to the end."""
DEFAULT_CAPACITY = {"cpu": "10000", "memory": "10000Gi", "pods": "10000"}
HOST_ADDRESS = "127.0.0.1"
BACK_OFF = {"ErrImagePull": "ImagePullBackOff"}
SAID = {
    "ErrImagePull": 'failed to pull and unpack image "{image}": failed to resolve reference "{image}": not found',
    "ImagePullBackOff": 'Back-off pulling image "{image}": ErrImagePull: failed to pull and unpack image "{image}": '
    'failed to resolve reference "{image}": not found',
    "CreateContainerConfigError": "container has runAsNonRoot and image will run as root",
}
"""Words of kubelet and containerd 2.x for a container that waits."""


@dataclass(slots=True)
class Pod:
    """One pod of ours: its object, its state, and whether somebody asked for its end."""

    object: Object
    state: PodState
    record: ContainerRecord
    """Of the container `main`, which follows the script."""
    others: list[ContainerRecord]
    """Of every other container: an init container is done at once, any other runs until the pod ends."""
    script: list[Step]
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    going_on: asyncio.Event = field(default_factory=asyncio.Event)
    """A test has let it go on behind `hold`."""
    started: int = 0
    limit: int | None = None
    """The activeDeadlineSeconds that is heeded."""
    gone: bool = False

    def step(self, word: str) -> Step | None:
        return next((step for step in self.script if step.word == word), None)


class StandIn:
    """The kubelets of all stand-in nodes."""

    def __init__(self, api: ResourceClient) -> None:
        self._api = api
        self._nodes: dict[str, asyncio.Task[None]] = {}
        self._cut_off: set[str] = set()
        self._back = asyncio.Event()
        self._pods: dict[str, Pod] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._addresses: Iterator[int] = itertools.count(1)
        self._log = structlog.get_logger("stand-in")

    async def run(self) -> None:
        transport, report = self._api.transport, self._log.info
        nodes = Informer(
            transport, NODES, changed=lambda kind, node: self._node(node, kind == "DELETED"), report=report
        )
        pods = Informer(transport, PODS, changed=lambda kind, pod: self._pod(pod, kind == "DELETED"), report=report)
        async with asyncio.TaskGroup() as group:
            group.create_task(nodes.run())
            await nodes.synced.wait()
            group.create_task(pods.run())
            await pods.synced.wait()
            print("ready", flush=True)

    def _do(self, work: Any, name: str) -> "asyncio.Task[None]":
        task: asyncio.Task[None] = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("a task broke", task=task.get_name(), exc_info=error)

    # nodes

    def _node(self, node: Object, deleted: bool) -> None:
        name = objects.name(node)
        if LABEL not in objects.labels(node):
            return
        if deleted:
            if task := self._nodes.pop(name, None):
                task.cancel()
            return
        if (objects.metadata(node).get("annotations") or {}).get(LABEL) == CUT_OFF:
            self._cut_off.add(name)
        elif name in self._cut_off:
            self._cut_off.discard(name)
            self._back.set()
            self._back = asyncio.Event()
        if name not in self._nodes:
            self._nodes[name] = self._do(self._keep(node), f"node {name}")

    async def _keep(self, node: Object) -> None:
        """Report the node Ready, then renew its Lease for as long as it exists."""
        name = objects.name(node)
        capacity = DEFAULT_CAPACITY | {"pods": objects.labels(node).get(PODS_LABEL, DEFAULT_CAPACITY["pods"])}
        for count in itertools.count():
            if name not in self._cut_off:
                try:
                    if count % 5 == 0:
                        await self._api.merge(f"{NODES}/{name}/status", {"status": _node_status(name, capacity)})
                    await self._renew(name)
                except ApiError as error:
                    self._log.info("node not reported", node=name, error=str(error))
            await asyncio.sleep(RENEW_SECONDS)

    async def _renew(self, name: str) -> None:
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": micro_time(time.time_ns())}
        try:
            await self._api.merge(f"{LEASES}/{name}", {"spec": spec})
        except NotFound:
            metadata = {"name": name, "namespace": "kube-node-lease"}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            with contextlib.suppress(AlreadyExists):
                await self._api.create(LEASES, lease)

    async def _connected(self, pod: Pod) -> None:
        """Wait while the pod's node is cut off."""
        while objects.node_name(pod.object) in self._cut_off:
            await self._back.wait()

    # pods

    def _pod(self, value: Object, deleted: bool) -> None:
        uid = objects.uid(value)
        pod = self._pods.get(uid)
        if deleted:
            if pod is not None:
                pod.gone = True
                pod.stopping.set()
            return
        if objects.node_name(value) not in self._nodes:
            return
        if pod is None:
            if objects.finished(value) and not objects.metadata(value).get("deletionTimestamp"):
                return
            pod = self._pods[uid] = _pod(value)
            task = self._do(self._live(pod), f"pod {objects.key(value)}")
            task.add_done_callback(lambda _: self._pods.pop(uid, None))
        older = _version(value) < _version(pod.object)
        pod.object = value
        if older and pod.state.over and not objects.finished(value):  # the cluster was restored from a backup
            self._do(self._report(pod), f"end of {objects.key(value)}, said again")
        limit = objects.spec(value).get("activeDeadlineSeconds")
        if limit is not None and limit != pod.limit:
            pod.limit = limit
            self._do(self._expire(pod, float(limit)), f"deadline of {objects.key(value)}")
        if (objects.metadata(value).get("annotations") or {}).get(LABEL) == GO_ON:
            pod.going_on.set()
        if objects.metadata(value).get("deletionTimestamp"):
            pod.stopping.set()

    async def _live(self, pod: Pod) -> None:
        """A pod's whole life on its node, until its object is gone."""
        if not objects.finished(pod.object):
            await self._work(pod)
        while True:
            await pod.stopping.wait()
            if not objects.finished(pod.object):
                await self._terminate(pod)
            if pod.gone or objects.metadata(pod.object).get("deletionTimestamp"):
                await self._delete(pod)
                return
            pod.stopping.clear()  # its deadline has passed: the containers have ended, the object stays

    async def _expire(self, pod: Pod, seconds: float) -> None:
        """activeDeadlineSeconds: the kubelet ends the containers, and keeps the pod with its log."""
        await asyncio.sleep(max(0.0, pod.started / 1e9 + seconds - time.time()))
        if not pod.state.over:
            pod.state.reason = "DeadlineExceeded"
            pod.state.message = "Pod was active on the node longer than the specified deadline"
            pod.stopping.set()

    async def _work(self, pod: Pod) -> None:
        """Follow the script to its end, or to SIGTERM."""
        pod.state.address = address_of(next(self._addresses))
        pod.state.started = whole_time(time.time_ns())
        pod.record.state = states.waiting("ContainerCreating")
        if wait := pod.step("init-wait"):
            pod.record.state = states.waiting("PodInitializing")
            await self._wait(pod, pod.others[0], wait.argument)
            return
        if failure := pod.step("init-exit"):
            pod.record.state = states.waiting("PodInitializing")
            pod.others[0].state = _ended(pod, int(failure.argument))
            await self._report(pod)
            return
        if wait := pod.step("wait"):
            await self._wait(pod, pod.record, wait.argument)
            return
        pull = pod.step("pull")
        if pull is not None:
            await self._report(pod)
        if await self._sleep(pod, pull.seconds if pull else STARTED):
            return
        pod.started = time.time_ns()
        pod.state.sandboxed = True
        pod.record.state = states.running(pod.started)
        pod.record.started = True
        pod.record.ready = pod.step("unready") is None
        pod.record.container_id = f"stand-in://{objects.uid(pod.object)}"
        for other in pod.others:
            other.state = _ended(pod, 0) if other.init and not other.sidecar else states.running(pod.started)
            other.started = other.ready = "running" in other.state
        await self._report(pod)
        for step in pod.script:
            if pod.record.exit_code is not None or pod.stopping.is_set():
                return
            match step.word:
                case "run":
                    await self._sleep(pod, step.seconds)
                case "hold":
                    await _first(pod.stopping, pod.going_on)
                case "exit":
                    await self._end(pod, int(step.argument))
                case "oom":
                    await self._end(pod, 137, "OOMKilled")
                case "evicted":
                    pod.state.reason, pod.state.over = "Evicted", True
                    pod.state.message = "The node was low on resource: ephemeral-storage."
                    pod.state.disrupted = pod.state.message
                    await self._end(pod, 137, whole=True)

    async def _wait(self, pod: Pod, container: ContainerRecord, reason: str) -> None:
        """A container that cannot start. A pull that fails alternates between the error and its back-off."""
        image = container.image
        alternately = itertools.cycle((reason, BACK_OFF.get(reason, reason)))
        for word in alternately:
            container.state = states.waiting(word, SAID.get(word, "").format(image=image))
            await self._report(pod)
            if await self._sleep(pod, 2.0 if word == reason else 8.0):
                return

    async def _terminate(self, pod: Pod) -> None:
        """SIGTERM: obey after a while, or be killed when the grace is over."""
        if not pod.state.over and pod.started and not pod.gone:
            grace = objects.grace(pod.object)
            gone = pod.step("gone")
            obey = grace if pod.step("deaf") else min(grace, gone.seconds if gone else OBEY)
            await asyncio.sleep(obey)
            await self._end(pod, 137 if obey >= grace else 143, whole=True)

    async def _end(self, pod: Pod, code: int, reason: str = "", *, whole: bool = False) -> None:
        """The program ends. Containers beside it go on, unless the `whole` pod ends; native sidecars end after it."""
        if pod.record.exit_code is None:
            pod.record.state = _ended(pod, code, reason)
        pod.record.ready = pod.record.started = False
        pod.state.over = whole or pod.state.over or all(other.init for other in pod.others)
        for other in pod.others if pod.state.over else ():
            if other.exit_code is None:
                other.state = _ended(pod, 143)
            other.ready = other.started = False
        await self._report(pod)

    async def _sleep(self, pod: Pod, seconds: float) -> bool:
        """True if the pod was asked to end meanwhile."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(pod.stopping.wait(), seconds)
        return pod.stopping.is_set()

    async def _report(self, pod: Pod) -> None:
        """Write the status; again if the object changed under us."""
        while not pod.gone:
            await self._connected(pod)
            status = pod_status(pod.object, pod.state, whole_time(time.time_ns()))
            version = objects.metadata(pod.object).get("resourceVersion")
            try:
                answer = await self._api.merge(
                    pod_path(pod.object, "status"), {"metadata": {"resourceVersion": version}, "status": status}
                )
            except Conflict:
                with contextlib.suppress(ApiError):
                    fresh = await self._api.get(pod_path(pod.object))
                    pod.gone = pod.gone or objects.uid(fresh) != objects.uid(pod.object)
                    pod.object = fresh
            except NotFound:
                pod.gone = True
            except ApiError as error:
                self._log.info("pod status not written", pod=objects.key(pod.object), error=str(error))
                await asyncio.sleep(1.0)
            else:
                pod.object = answer
                return

    async def _delete(self, pod: Pod) -> None:
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": objects.uid(pod.object)}}
        while not pod.gone:
            await self._connected(pod)
            try:
                await self._api.delete(pod_path(pod.object), options)
            except (NotFound, Conflict):
                return
            except ApiError:
                await asyncio.sleep(1.0)
            else:
                return


def _version(value: Object) -> int:
    return int(objects.metadata(value).get("resourceVersion") or 0)


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()


def address_of(number: int) -> str:
    """An address of the pod's own, from which no probe leaves the machine: of multicast, to which the kernel refuses
    TCP. EndpointSlices, which real controllers make of these pods, take such addresses, and none of loopback."""
    return f"239.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _ended(pod: Pod, code: int, reason: str = "") -> dict[str, Any]:
    late = pod.step("late")
    finished = time.time_ns() - int(late.seconds * 1e9 if late else 0)
    return states.terminated(
        code,
        started=min(pod.started or finished, finished),
        finished=finished,
        container_id=pod.record.container_id,
        reason=reason or ("Error" if code else "Completed"),
    )


def _pod(value: Object) -> Pod:
    spec = objects.spec(value)
    mains = spec["containers"]
    container = next((each for each in mains if each["name"] == CONTAINER), mains[0])
    record = _record(container)
    others = [_record(each, init=True) for each in spec.get("initContainers") or ()]
    others += [_record(each) for each in mains if each is not container]
    command = (container.get("command") or [""])[-1]
    state = PodState(containers=[record, *others], host_address=HOST_ADDRESS)
    return Pod(value, state, record, others, steps(command, objects.labels(value)))


def _record(container: Object, *, init: bool = False) -> ContainerRecord:
    sidecar = container.get("restartPolicy") == "Always"
    return ContainerRecord(str(container["name"]), str(container.get("image") or ""), init=init, sidecar=sidecar)


def _node_status(name: str, capacity: dict[str, str]) -> dict[str, Any]:
    now = whole_time(time.time_ns())
    conditions = [
        {"type": kind, "status": "False", "reason": f"KubeletHasNo{kind}", "message": "", "lastHeartbeatTime": now}
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")
    ]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastHeartbeatTime": now}
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": [*conditions, ready],
        "addresses": [{"type": "Hostname", "address": name}],
    }


async def serve(kubeconfig: Path) -> None:
    """Run until SIGTERM."""
    connection = await Connection.open(KubeConfig(str(kubeconfig)))
    running = asyncio.create_task(StandIn(ResourceClient(connection, concurrency=32)).run())
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await running
    finally:
        await connection.aclose()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", type=Path, required=True)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    asyncio.run(serve(parser.parse_args().kubeconfig))
    return 0


if __name__ == "__main__":
    sys.exit(main())
