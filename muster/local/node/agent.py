"""The local node agent: a kubelet and a scheduler for one machine, whose containers are plain processes.

Trust: there is no image and no container runtime. A pod runs with the host's files and with the rights of whoever
started the agent; namespaces keep pods apart from one another by address, name and process tree, not from the user's
files. Run manifests here that you would run as a script.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import IO

import structlog

from muster.api.errors import ApiError
from muster.kube.access import Source
from muster.kube.connection import Connection
from muster.kube.listwatch.informer import Informer
from muster.kube.resources import ResourceClient
from muster.local.caller import CALLERS
from muster.local.node.containers.config_sources import ApiConfigSources
from muster.local.node.containers.logs import LogStore
from muster.local.node.containers.restart_policy import INITIAL
from muster.local.node.context import NodeContext
from muster.local.node.isolation.cgroups import Cgroups
from muster.local.node.isolation.launcher_client import Launcher
from muster.local.node.isolation.levels import Choice, Isolation, choose_isolation
from muster.local.node.network.forwarding_check import forwarding_refusal
from muster.local.node.network.hosts_files import HostsFiles
from muster.local.node.network.pod_network import PodNetwork
from muster.local.node.paths import PODS, SERVICES
from muster.local.node.pods.assigned_pods import AssignedPods
from muster.local.node.registration import Registration, machine_capacity
from muster.local.node.scheduling import fit as scheduling
from muster.local.node.scheduling.scheduler import Scheduler
from muster.local.node.timestamps import Clock

START_SECONDS = 60.0


class AgentError(Exception):
    """The agent cannot start; the text says why and what to do."""


class NodeAgent:
    """One node. `logs` serves `kubectl logs`; give it to the API server as its PodLogs."""

    def __init__(
        self,
        access: Source,
        *,
        state_dir: Path,
        isolation: Isolation | None = None,
        name: str = "local",
        capacity: Mapping[str, str] | None = None,
        back_off: float = INITIAL,
        clock: Clock = time.time_ns,
        workspace: Path | None = None,
    ) -> None:
        """``workspace`` is where containers start that name no working directory (default: the pod's own folder)."""
        self.logs = LogStore(clock)
        self.name = name
        self.isolation: Choice | None = None if isolation is None else Choice(isolation, {})
        self._access = access
        self._state_dir = state_dir
        self._capacity = machine_capacity() | {key: str(value) for key, value in (capacity or {}).items()}
        self._back_off = back_off
        self._clock = clock
        self._workspace = workspace
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self._node: NodeContext | None = None
        self._pods: AssignedPods | None = None
        self._registration: Registration | None = None
        self._log = structlog.get_logger("muster.local.node")

    async def start(self) -> None:
        """Register the node and begin to run pods. Raises AgentError, or ApiError when no API server answers."""
        try:
            await self._start()
        except BaseException:
            await self._end_tasks()
            await self._stack.aclose()
            raise

    async def stop(self, grace: float) -> None:
        """End every pod (SIGTERM, at most `grace` seconds, SIGKILL), say the node is gone, and remove all traces.

        A second call does nothing.
        """
        node, self._node = self._node, None
        if node is not None and self._pods is not None and self._registration is not None:
            node.draining = True
            await self._pods.drain(grace)
            try:
                await self._registration.leave()
            except ApiError as error:
                self._log.info("node status not written", error=str(error))
        await self._end_tasks()
        await self._stack.aclose()

    async def _start(self) -> None:
        folder = self._state_dir / "pods"
        folder.mkdir(parents=True, exist_ok=True)
        self._lock()
        shutil.rmtree(self._state_dir / CALLERS, ignore_errors=True)  # of runs that were killed
        choice, network, launcher = await self._set_up_isolation()
        cgroups = Cgroups(f"muster-{_network_namespace()}-{network.name}")
        self._stack.callback(cgroups.clear)
        self.isolation = choice
        transport = await Connection.open(self._access)
        self._stack.push_async_callback(transport.aclose)
        api = ResourceClient(transport)
        report = self._log.info
        services = Informer(transport, SERVICES, changed=lambda _kind, _service: hosts.touch(), report=report)
        hosts = HostsFiles(services.objects)
        self._node = node = NodeContext(
            api=api,
            name=self.name,
            isolation=choice.isolation,
            launcher=launcher,
            network=network,
            hosts=hosts,
            logs=self.logs,
            sources=ApiConfigSources(api),
            cgroups=cgroups,
            clock=self._clock,
            python_directory=str(Path(sys.executable).parent),
            back_off=self._back_off,
            callers=self._state_dir / CALLERS,
            workspace=self._workspace,
        )
        self._stack.push_async_callback(lambda: node.launcher.stop())
        self._registration = registration = Registration(
            api,
            self.name,
            capacity=self._capacity,
            address=network.host_address,
            isolation=choice,
            clock=self._clock,
        )
        await registration.register()
        self._pods = pods = AssignedPods(node, folder, lambda: scheduler.wake())
        self._stack.push_async_callback(pods.abandon)
        watched = Informer(
            transport, PODS, changed=lambda kind, pod: pods.take(pod, deleted=kind == "DELETED"), report=report
        )
        scheduler = Scheduler(
            api,
            watched.objects,
            node=self.name,
            node_labels=registration.labels,
            capacity=scheduling.amounts(self._capacity),
            clock=self._clock,
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
        self._log.info("local node ready", node=self.name, isolation=str(choice), address=network.host_address)

    async def _set_up_isolation(self) -> tuple[Choice, PodNetwork, Launcher]:
        """The best isolation that holds, with its addresses and launcher. One the caller chose is taken as it is."""
        choice = self.isolation if self.isolation is not None else await asyncio.to_thread(choose_isolation)
        while True:
            async with AsyncExitStack() as attempt:
                network = await PodNetwork.make(choice.isolation)
                attempt.push_async_callback(network.close)
                launcher = self._launch(choice.isolation)
                attempt.push_async_callback(launcher.stop)
                refused = None
                if choice.isolation is Isolation.NETNS and self.isolation is None:
                    refused = await forwarding_refusal(launcher, network)
                if refused is None:
                    self._stack.push_async_exit(attempt.pop_all())
                    return choice, network, launcher
            choice = Choice(Isolation.MNT, {Isolation.NETNS: refused})

    def _lock(self) -> None:
        """One agent per state folder."""
        lock: IO[bytes] = self._stack.enter_context((self._state_dir / "lock").open("ab"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AgentError(
                f"another node agent works in {self._state_dir}; stop it, or choose another state folder"
            ) from error

    def _launch(self, isolation: Isolation) -> Launcher:
        return Launcher(isolation, userns=isolation is Isolation.MNT and os.geteuid() != 0)

    async def _keep_launcher(self, node: NodeContext) -> None:
        """A launcher that dies takes its pods with it, which their runners see; new pods need a new one."""
        while True:
            launcher = node.launcher
            await launcher.died.wait()
            self._log.error("the launcher process died and is started again", pid=launcher.pid)
            node.launcher = self._launch(node.isolation)
            await launcher.stop()

    def _report(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("a task of the node agent broke", task=task.get_name(), exc_info=error)

    async def _end_tasks(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _network_namespace() -> int:
    """Tells agents of the same name in different network namespaces apart."""
    return Path("/proc/self/ns/net").stat().st_ino
