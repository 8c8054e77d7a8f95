"""The node agent: a kubelet and a scheduler for one machine, whose containers are processes.

Security: there is no image and no container runtime. A pod has the host's files and the rights of the user who started
the agent. Namespaces separate pods from each other by address, name and process tree; they do not protect the user's
files. Run only manifests that you would run as a script.
"""

import asyncio
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import IO

from muster.api.errors import ApiError
from muster.kube.authentication.credentials import Source
from muster.kube.cancellation import cancel_and_wait
from muster.kube.connection import Connection
from muster.kube.listwatch.informer import Informer
from muster.kube.resources import ResourceClient
from muster.local.home import CALLERS
from muster.local.node.containers.runner import run_command
from muster.local.node.containers.states import INITIAL
from muster.local.node.context import LOG, NodeContext
from muster.local.node.isolation.cgroups import Cgroups
from muster.local.node.isolation.levels import Choice, Isolation, choose_isolation
from muster.local.node.isolation.sandbox import Launcher, ProcessSpec, Sandbox
from muster.local.node.logs import LogStore
from muster.local.node.network.hosts_files import HostsFiles
from muster.local.node.network.pod_network import PodNetwork
from muster.local.node.objects import PODS, SERVICES, Clock
from muster.local.node.pods.assigned_pods import AssignedPods
from muster.local.node.registration import Registration, machine_capacity
from muster.local.node.scheduling.fit import amounts
from muster.local.node.scheduling.scheduler import Scheduler
from muster.local.node.sources.environment import ConfigSources

FILTER = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
ANSWER_SECONDS = 10.0
_LISTEN = "import socket; socket.create_server(('', 1)).accept()"
_CONNECT = """
import socket, sys, time
for _ in range(100):
    try:
        socket.create_connection((sys.argv[1], 1), 2)
        sys.exit(0)
    except ConnectionRefusedError:
        time.sleep(0.02)
    except OSError:
        break
sys.exit(1)
"""


async def forwarding_refusal(launcher: Launcher, network: PodNetwork) -> str | None:
    """Return why pods in network namespaces cannot connect to each other, None if they can. Raises SandboxError.

    With br_netfilter loaded, bridged packets pass the host's FORWARD chain, and a machine with Docker drops them there.
    Pods would start and never connect, so the agent tries it with two sandboxes before it runs the first pod.
    """
    if not _filtered():
        return None
    sandboxes: list[Sandbox] = []
    addresses = [network.addresses.take() for _ in range(2)]
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        for address in addresses:
            sandboxes.append(sandbox := await launcher.pod(host_network=False))
            await network.connect(await sandbox.created(), address)
            await sandbox.set_up(
                hostname="probe", binds=[], address=address, prefix=network.prefix, gateway=network.host_address
            )
        await sandboxes[0].start(_python(_LISTEN), null)
        asking = await sandboxes[1].start(_python(_CONNECT, addresses[0]), null)
        async with asyncio.timeout(ANSWER_SECONDS):
            met = await asyncio.shield(asking.status) == 0
    except TimeoutError:
        met = False
    finally:
        os.close(null)
        await asyncio.gather(*(sandbox.destroy() for sandbox in sandboxes))
        for address in addresses:
            network.addresses.free(address)
    return None if met else "the host's firewall drops packets between pods on a bridge (iptables FORWARD)"


def _filtered() -> bool:
    try:
        return FILTER.read_text(encoding="ascii").strip() == "1"
    except OSError:
        return False


def _python(script: str, *arguments: str) -> ProcessSpec:
    argv = [sys.executable, "-I", "-S", "-c", script, *arguments]
    return ProcessSpec(argv, {}, cwd="/", pod_directory="/", graft_directory="/")


START_SECONDS = 60.0


class AgentError(Exception):
    """The agent cannot start. The message has the reason and the next step."""


@dataclass(slots=True, eq=False, repr=False)  # no text shows its access
class NodeAgent:
    """One node. The API server serves `kubectl logs` from `logs`, and `kubectl exec` by `execute`.

    `isolation` is the one that is asked for, and `choice` the one that works, after the start. `workspace` is the
    working directory of containers that set none (default: the pod's own folder). With `api_port` (see `NodeContext`),
    or with `tokens`, pods have tokens of their service accounts. `entrypoints` are the commands of images by
    repository, for containers that name none.
    """

    access: Source
    _: KW_ONLY
    state_dir: Path
    isolation: Isolation | None = None
    name: str = "local"
    capacity: Mapping[str, str] = field(default_factory=dict)
    back_off: float = INITIAL
    clock: Clock = time.time_ns
    workspace: Path | None = None
    api_port: int | None = None
    entrypoints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tokens: bool = False
    logs: LogStore = field(init=False)
    choice: Choice | None = field(init=False, default=None)
    _stack: AsyncExitStack = field(init=False, default_factory=AsyncExitStack)
    _tasks: list[asyncio.Task[None]] = field(init=False, default_factory=list)
    _node: NodeContext | None = field(init=False, default=None)
    _pods: AssignedPods | None = field(init=False, default=None)
    _registration: Registration | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.logs = LogStore(self.clock)

    @property
    def host_address(self) -> str:
        """Return the address that this machine has for pods. Raises AgentError before the start."""
        if self._node is None:
            raise AgentError("the node agent has not started")
        return self._node.network.host_address

    async def start(self) -> None:
        """Register the node and start to run pods. Raises AgentError, or ApiError if the API server does not answer."""
        try:
            await self._start()
        except BaseException:
            await self._end_tasks()
            await self._stack.aclose()
            raise

    async def stop(self, grace: float) -> None:
        """Stop every pod (SIGTERM, at most `grace` seconds, SIGKILL), set the node to NotReady, and clean up.

        A second call does nothing.
        """
        node, self._node = self._node, None
        if node is not None and self._pods is not None and self._registration is not None:
            node.draining = True
            await self._pods.drain(grace)
            try:
                await self._registration.leave()
            except ApiError as error:
                LOG.info("node status not written", error=str(error))
        await self._end_tasks()
        await self._stack.aclose()

    async def execute(
        self,
        namespace: str,
        pod: str,
        container: str,
        command: Sequence[str],
        write: Callable[[bytes], Awaitable[None]],
    ) -> int | None:
        """Run a command in a container, and `write` its output. The exit code; None where the container does not run.

        Its end is the end of the task that runs it: a caller that is gone kills it.
        """
        worker = self._pods.worker(namespace, pod) if self._pods is not None else None
        runner = worker.runner(container) if worker is not None else None
        return None if runner is None else await run_command(runner, command, write)

    async def _start(self) -> None:
        folder = self.state_dir / "pods"
        folder.mkdir(parents=True, exist_ok=True)
        self._lock()
        shutil.rmtree(self.state_dir / CALLERS, ignore_errors=True)  # left by runs that were killed
        choice, network, launcher = await self._set_up_isolation()
        cgroups = Cgroups(f"muster-{_network_namespace()}-{network.name}")
        self._stack.callback(cgroups.clear)
        self.choice = choice
        capacity = machine_capacity() | {key: str(value) for key, value in self.capacity.items()}
        transport = await Connection.open(self.access)
        self._stack.push_async_callback(transport.aclose)
        api = ResourceClient(transport)
        report = LOG.info
        services = Informer(
            transport, SERVICES, changed=lambda _kind, _service: hosts.services_changed(), report=report
        )
        hosts = HostsFiles(services.objects, network.host_address)
        self._node = node = NodeContext(
            api=api,
            name=self.name,
            isolation=choice.isolation,
            launcher=launcher,
            network=network,
            hosts=hosts,
            logs=self.logs,
            sources=ConfigSources(api, tokens=self.tokens or self.api_port is not None),
            cgroups=cgroups,
            clock=self.clock,
            python_directory=str(Path(sys.executable).parent),
            back_off=self.back_off,
            callers=self.state_dir / CALLERS,
            workspace=self.workspace,
            api_port=self.api_port,
            entrypoints=self.entrypoints,
        )
        self._stack.push_async_callback(lambda: node.launcher.stop())
        self._registration = registration = Registration(
            api,
            self.name,
            capacity=capacity,
            address=network.host_address,
            isolation=choice,
            clock=self.clock,
        )
        await registration.register()
        self._pods = pods = AssignedPods(node, folder, lambda: scheduler.wake())
        self._stack.push_async_callback(pods.abandon)
        watched = Informer(
            transport, PODS, changed=lambda kind, pod: pods.handle(pod, deleted=kind == "DELETED"), report=report
        )
        scheduler = Scheduler(
            api,
            watched.objects,
            node=self.name,
            node_labels=registration.labels,
            capacity=amounts(capacity),
            clock=self.clock,
        )
        for name, work in (
            ("services", services.run()),
            ("pods", watched.run()),
            ("scheduler", scheduler.run()),
            ("hosts", hosts.run()),
            ("heartbeat", registration.run()),
            ("launcher", self._keep_launcher(node)),
        ):
            self._tasks.append(asyncio.create_task(work, name=f"node-{name}"))
            self._tasks[-1].add_done_callback(self._report)
        async with asyncio.timeout(START_SECONDS):
            await services.synced.wait()
            await watched.synced.wait()
        pods.sweep(watched.objects)
        LOG.info("local node ready", node=self.name, isolation=str(choice), address=network.host_address)

    async def _set_up_isolation(self) -> tuple[Choice, PodNetwork, Launcher]:
        """Set up the best isolation that works, with its network and launcher. A requested isolation is not checked."""
        choice = Choice(self.isolation, {}) if self.isolation else await asyncio.to_thread(choose_isolation)
        while True:
            async with AsyncExitStack() as attempt:
                network = await PodNetwork.make(choice.isolation)
                attempt.push_async_callback(network.close)
                launcher = Launcher(choice.isolation)
                attempt.push_async_callback(launcher.stop)
                refused = None
                if choice.isolation is Isolation.NETNS and self.isolation is None:
                    refused = await forwarding_refusal(launcher, network)
                if refused is None:
                    self._stack.push_async_exit(attempt.pop_all())
                    return choice, network, launcher
            choice = Choice(Isolation.MNT, {Isolation.NETNS: refused})

    def _lock(self) -> None:
        """Allow one agent per state directory."""
        lock: IO[bytes] = self._stack.enter_context((self.state_dir / "lock").open("ab"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AgentError(
                f"another node agent uses {self.state_dir}; stop it, or choose another state directory"
            ) from error

    async def _keep_launcher(self, node: NodeContext) -> None:
        """Start the launcher again when it dies. Its pods die with it, and their workers report that."""
        while True:
            launcher = node.launcher
            await launcher.died.wait()
            LOG.error("launcher process died, starting it again", pid=launcher.pid)
            node.launcher = Launcher(node.isolation)
            await launcher.stop()

    def _report(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("task exited unexpectedly", task=task.get_name(), exc_info=error)

    async def _end_tasks(self) -> None:
        tasks, self._tasks = self._tasks, []
        await cancel_and_wait(*tasks)


def _network_namespace() -> int:
    """Return a number that differs for agents of the same name in different network namespaces."""
    return Path("/proc/self/ns/net").stat().st_ino
