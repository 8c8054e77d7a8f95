"""Runs one pod on this node: sandbox, volumes, init containers, containers, termination, final status."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from muster.kube.cancellation import cancel_and_wait, cancelling
from muster.local.node import objects
from muster.local.node.containers import states
from muster.local.node.containers.runner import ContainerRunner
from muster.local.node.containers.states import ContainerRecord
from muster.local.node.context import LOG, NodeContext, PodContext
from muster.local.node.isolation.levels import Isolation
from muster.local.node.isolation.sandbox import SandboxError
from muster.local.node.network.address_pool import AddressesExhaustedError
from muster.local.node.network.hosts_files import names_of
from muster.local.node.objects import SECOND, Object, whole_time
from muster.local.node.pods.status_writer import PodState, StatusWriter
from muster.local.node.sources.environment import ConfigError, PodPlacement
from muster.local.node.sources.volumes import make_volumes, memory_volumes, renew_tokens

VOLUMES = "volumes"
"""The folder of a pod's volumes, in that of the pod."""
NO_NAMESERVER = (
    "# Names of pods are in /etc/hosts. This nameserver refuses at once, so that no resolver waits.\n"
    "nameserver 127.0.0.1\n"
)


async def set_up_pod(context: PodContext, state: PodState) -> None:
    """Set up the sandbox: namespaces, an address, volumes, and own files in /etc. They are in `context` and `state`.

    Raises SandboxError, ConfigError or AddressesExhaustedError.
    """
    node, pod = context.node, context.placement.pod
    on_host = bool(objects.spec(pod).get("hostNetwork"))
    context.sandbox = await node.launcher.pod(host_network=on_host)
    subdomain = str(objects.spec(pod).get("subdomain") or "")
    name = f"{objects.namespace(pod)}/{objects.hostname(pod)}.{subdomain}" if subdomain else ""
    address = node.network.host_address if on_host else node.network.addresses.take(name)
    state.address = address
    context.placement = replace(context.placement, address=address)
    context.home.mkdir(parents=True, exist_ok=True)
    context.hosts_file.parent.mkdir(parents=True, exist_ok=True)
    context.volumes = await make_volumes(context.folder / VOLUMES, context.placement, node.sources)
    node.hosts.add(names_of(pod, address), context.hosts_file, objects.spec(pod).get("hostAliases") or ())
    pid = await context.sandbox.created()
    if not on_host:
        await node.network.connect(pid, address)
    await context.sandbox.set_up(
        hostname=objects.hostname(pod),
        binds=_own_files(context, with_resolver=node.isolation is Isolation.NETNS and not on_host),
        address=address,
        prefix=node.network.prefix,
        gateway=node.network.host_address,
        tmpfs=memory_volumes(context.volumes),
    )


def _own_files(context: PodContext, *, with_resolver: bool) -> list[tuple[str, str]]:
    """Return the files of /etc that a pod has for itself: (its file, the path of the bind mount)."""
    etc = context.hosts_file.parent
    (etc / "hostname").write_text(f"{objects.hostname(context.placement.pod)}\n", encoding="utf-8")
    (etc / "resolv.conf").write_text(NO_NAMESERVER, encoding="utf-8")
    names = ["hosts", "hostname", *(["resolv.conf"] if with_resolver else [])]
    return [(str(etc / name), f"/etc/{name}") for name in names if Path("/etc", name).exists()]


DEADLINE = "DeadlineExceeded"
SHUTDOWN = "Terminated"
"""Reason of pods that end because the node shuts down (pkg/kubelet/nodeshutdown)."""


class PodWorker:
    """Runs one pod. `run` returns when the pod has ended; the other methods may be called meanwhile."""

    def __init__(self, node: NodeContext, pod: Object, folder: Path) -> None:
        self._node = node
        self._state = PodState(host_address=node.network.host_address, containers=_records(pod))
        self._status_writer = StatusWriter(node, pod, self._state)
        placement = PodPlacement(pod, node.name, "", node.network.host_address)
        self._context = PodContext(node, placement, folder, self._status_writer.changed)
        self._runners: list[ContainerRunner] = []
        self._grace = objects.grace(pod)
        self._hurry = asyncio.Event()
        self._newer = asyncio.Event()
        self._started = 0
        self._deleted = False
        self._log = LOG.bind(pod=objects.key(pod))

    @property
    def pod(self) -> Object:
        """Return the newest known version of the object."""
        return self._status_writer.pod

    def runner(self, container: str) -> ContainerRunner | None:
        """Return the runner of that container; None before its turn."""
        return next((each for each in self._runners if each.record.name == container), None)

    def update(self, pod: Object) -> None:
        """Take a newer version of the object, which may change readiness or request deletion."""
        self._status_writer.update(pod)
        self._node.hosts.update(names_of(self.pod, self._state.address))
        self._newer.set()
        if objects.metadata(pod).get("deletionTimestamp"):
            self._deleted = True
            self.stop(objects.grace(pod))

    def object_deleted(self) -> None:
        """Kill the processes at once, because the object was deleted (a forced deletion)."""
        self._status_writer.gone = True
        self.stop(0)

    def shut_down(self, grace: float) -> None:
        """Stop the pod because the node shuts down: it fails with DisruptionTarget."""
        self._state.reason = self._state.reason or SHUTDOWN
        self._state.message = self._state.message or "Pod was terminated in response to imminent node shutdown."
        self._state.disrupted = self._state.message
        self.stop(min(grace, self._grace))

    def stop(self, grace: float) -> None:
        """Stop the pod: SIGTERM, `grace` seconds, SIGKILL. A second call can shorten the grace period."""
        if self._context.stopping.is_set() and grace < self._grace:
            self._hurry.set()
        self._grace = grace
        self._context.stopping.set()

    async def run(self) -> None:
        """Run the pod. Returns when nothing of it is left on the node and its final status is written."""
        self._started = self._node.clock()
        self._state.started = whole_time(self._started)
        reporting = asyncio.create_task(self._status_writer.run(), name=f"report-{objects.key(self.pod)}")
        working = asyncio.create_task(self._work(), name=f"work-{objects.key(self.pod)}")
        stopping = asyncio.create_task(self._context.stopping.wait(), name=f"stop-{objects.key(self.pod)}")
        try:
            if not await self._ends_in_time(working, stopping):
                self._state.reason = DEADLINE
                self._state.message = "Pod was active on the node longer than the specified deadline"
                self._context.stopping.set()
            if not working.done():
                await self._terminate(working)
            await asyncio.wait({working})
            self._record_failure(working)
        finally:
            await cancel_and_wait(working, stopping, reporting)
            await self._take_down()
        self._state.over = True
        for record in self._state.containers:
            record.settle()
        await self._status_writer.write()
        if self._deleted:
            await self._status_writer.delete()

    async def _ends_in_time(self, *ends: asyncio.Task[Any]) -> bool:
        """Wait for the first of ``ends``, for ``activeDeadlineSeconds`` at most, which may be set on a running pod."""
        while True:
            self._newer.clear()
            left = time_left(self.pod, self._started, self._node.clock())
            newer = asyncio.create_task(self._newer.wait(), name=f"newer-{objects.key(self.pod)}")
            try:
                done, _ = await asyncio.wait({*ends, newer}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            finally:
                newer.cancel()
            if not done:
                return False
            if any(end in done for end in ends):
                return True

    def _record_failure(self, working: asyncio.Task[None]) -> None:
        """Fail the pod if its work failed with an exception; other pods are not affected."""
        error = working.exception()
        if error is not None:
            self._log.error("pod failed because of an error of the node agent", exc_info=error)
            self._state.reason, self._state.message = "NodeError", f"the local node failed: {error}"

    async def _work(self) -> None:
        """Run all containers until they have ended and are not restarted."""
        spec, context, node = objects.spec(self.pod), self._context, self._node
        if not await self._set_up():
            return
        renewal = renew_tokens(context.folder / VOLUMES, context.placement, node.sources, context.pause, node.retry)
        async with cancelling(asyncio.create_task(renewal, name=f"tokens-{objects.key(self.pod)}")):
            await self._run_containers(spec)

    async def _run_containers(self, spec: Object) -> None:
        context = self._context
        policy = str(spec.get("restartPolicy") or "Always")
        sidecars: list[asyncio.Task[None]] = []
        for container, record in zip(spec.get("initContainers") or (), self._state.inits, strict=True):
            runner = self._add_runner(container, record, _init_policy(policy, record))
            if record.sidecar:
                sidecars.append(asyncio.create_task(runner.run(), name=f"sidecar-{record.name}"))
                started = asyncio.create_task(runner.started.wait(), name=f"started-{record.name}")
                await asyncio.wait({started, sidecars[-1]}, return_when=asyncio.FIRST_COMPLETED)
                started.cancel()
            else:
                await runner.run()
                if record.exit_code != 0:
                    break
        else:
            pairs = zip(spec.get("containers") or (), self._state.mains, strict=True)
            mains = [self._add_runner(container, record, policy) for container, record in pairs]
            for record in self._state.mains:
                record.state = states.waiting("ContainerCreating")
            async with asyncio.TaskGroup() as group:
                for runner in mains:
                    group.create_task(runner.run(), name=f"container-{runner.record.name}")
        if sidecars and not context.stopping.is_set():
            context.stopping.set()
        await asyncio.gather(*sidecars)

    def _add_runner(self, container: Object, record: ContainerRecord, policy: str) -> ContainerRunner:
        runner = ContainerRunner(self._context, container, record, policy)
        self._runners.append(runner)
        return runner

    async def _set_up(self) -> bool:
        """Create sandbox and volumes; retries until that succeeds. False if the pod stops first."""
        context = self._context
        while not context.stopping.is_set():
            try:
                await set_up_pod(context, self._state)
            except (SandboxError, ConfigError, AddressesExhaustedError) as error:
                self._log.info("pod set-up failed, retrying", error=str(error))
                self._state.message = str(error)
                context.changed()
                await self._take_down()
                await context.pause(context.node.retry)
            else:
                self._state.sandboxed = True
                self._state.message = ""
                context.changed()
                return True
        return False

    async def _terminate(self, working: asyncio.Task[None]) -> None:
        """Send SIGTERM to all containers, wait for at most the grace period, then kill the rest."""
        grace = self._grace
        self._context.changed()
        if grace > 0:
            asking = asyncio.gather(*(runner.terminate(grace) for runner in self._runners), return_exceptions=True)
            hurry = asyncio.create_task(self._hurry.wait(), name="hurry")
            await asyncio.wait({working, hurry}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            await cancel_and_wait(hurry, asking)
        if not working.done() and self._context.sandbox is not None:
            await self._context.sandbox.destroy()

    async def _take_down(self) -> None:
        self._node.hosts.remove(objects.uid(self.pod))
        self._state.sandboxed = False
        if self._context.sandbox is not None:
            await self._context.sandbox.destroy()
        if self._state.address and self._state.address != self._node.network.host_address:
            self._node.network.addresses.free(self._state.address)


def time_left(pod: Object, started: int, now: int) -> float | None:
    """Return the seconds until ``activeDeadlineSeconds`` of a pod started then are over; None without a deadline."""
    limit = objects.spec(pod).get("activeDeadlineSeconds")
    return None if limit is None else max(0.0, float(limit) - (now - started) / SECOND)


def _init_policy(policy: str, record: ContainerRecord) -> str:
    if record.sidecar:
        return "Always"
    return "Never" if policy == "Never" else "OnFailure"


def _records(pod: Object) -> list[ContainerRecord]:
    spec = objects.spec(pod)
    reason = "PodInitializing" if spec.get("initContainers") else "ContainerCreating"
    return [
        ContainerRecord(
            str(each.get("name")),
            str(each.get("image") or ""),
            init=init,
            sidecar=init and each.get("restartPolicy") == "Always",
            state=states.waiting(reason),
        )
        for init, place in ((True, "initContainers"), (False, "containers"))
        for each in spec.get(place) or ()
    ]
