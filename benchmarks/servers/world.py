"""A world in memory for the real daemon: its API server, a kubelet for all nodes, and the coordinators of all gangs.

The daemon is the one that ``musterd`` runs; only its clock, its transport and its probes are replaced.
"""

import asyncio
import functools
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.servers.memory_api import MemoryApi, Object
from muster.api.names import API_VERSION, KIND, LABEL_EPOCH, LABEL_RANK, LABEL_UID
from muster.api.values.timestamps import whole_time
from muster.daemon.app import Daemon
from muster.daemon.main import configure_logs
from muster.daemon.settings import Settings
from muster.kube.paths import core
from muster.reconcilers.refs import experiment_path
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.vocabulary.actions import ProbeTarget

BEGAN = 1_800_000_000.0
"""Unix time at which every world begins."""
ENDING = 1.0
"""Seconds that a process takes to end after SIGTERM."""
NAMESPACE = "lab"


@dataclass(slots=True)
class Gang:
    """The processes of one epoch, as their coordinator knows them."""

    here: set[int] = field(default_factory=set)
    roll: tuple[RankState, ...] = ()

    def join(self, rank: int, size: int) -> None:
        """A process registers with the coordinator; the rendezvous completes with the last one."""
        self.here.add(rank)
        state = RankState.CONNECTED if len(self.here) == size else RankState.ARRIVED
        self.roll = tuple(state if rank in self.here else RankState.MISSING for rank in range(size))


class World:
    """``delay(rank)`` says how many seconds a member takes from its pod's creation until its program runs."""

    def __init__(self, size: int, *, delay: Callable[[int], float]) -> None:
        self.size = size
        self.asked: Callable[[str, str, str], None] = lambda _method, _resource, _path: None
        """Called with every request of the daemon as it is issued."""
        self.api = MemoryApi(asked=lambda *request: self.asked(*request), born=self._born, asked_to_end=self._end)
        self._delay = delay
        self._gangs: dict[tuple[str, str], Gang] = {}
        self._gang_of: dict[str, Gang] = {}

    def submit(self, number: int) -> str:
        """Create an experiment; return its path."""
        name = f"run-{number}"
        path = experiment_path(NAMESPACE, name)
        spec = {
            "operator": "jax",
            "image": "registry.example/train:1",
            "command": "python3 -u main.py --config large.yaml",
            "types": {"worker": {"count": self.size, "resources": {"cpus": 8, "ramRatio": 4}}},
        }
        metadata = {"name": name, "uid": f"{number:08x}-0000-4000-8000-000000000000"}
        self.api.put(path, {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec})
        return path

    def pods(self, number: int) -> list[str]:
        """The paths of an experiment's pods."""
        return self.api.pods_of(f"{number:08x}-0000-4000-8000-000000000000")

    def running(self, number: int) -> list[str]:
        """The paths of an experiment's running pods."""
        return [path for path in self.pods(number) if self.api.get(path)["status"]["phase"] == "Running"]

    def touch(self, path: str) -> None:
        """Change no field of a pod but its resourceVersion."""
        self.api.publish("MODIFIED", path)

    def fail(self, path: str, at: str) -> None:
        """End a member's program with an error at that time (RFC 3339)."""
        self._ended(path, "Failed", {"exitCode": 1, "reason": "Error", "finishedAt": at})

    def succeed(self, path: str) -> None:
        """End a member's program without an error."""
        finished_at = whole_time(BEGAN + asyncio.get_running_loop().time())
        self._ended(path, "Succeeded", {"exitCode": 0, "reason": "Completed", "finishedAt": finished_at})

    @asynccontextmanager
    async def daemon(self) -> AsyncIterator[Daemon]:
        """Run the daemon in this world."""
        _log_to_nowhere()
        loop = asyncio.get_running_loop()
        daemon = Daemon(
            self.api,
            Settings(),
            clock=lambda: BEGAN + loop.time(),
            monotonic=loop.time,
            random=Random(1),
            instance="bench",
            version="0",
            make_prober=lambda target: Coordinator(self._gang_of[target.uid], target, loop.time),
        )
        running = asyncio.create_task(daemon.run(), name="daemon")
        try:
            yield daemon
        finally:
            daemon.stop()
            assert await running, "the daemon did not end cleanly"

    def _born(self, pod: Object) -> None:
        labels = pod["metadata"]["labels"]
        gang = self._gangs.setdefault((labels[LABEL_UID], labels[LABEL_EPOCH]), Gang())
        self._gang_of[pod["metadata"]["uid"]] = gang
        self._set(_path(pod), "Pending", waiting={"reason": "ContainerCreating"})
        delay = self._delay(int(labels[LABEL_RANK]))
        asyncio.get_running_loop().call_later(delay, self._start, pod)

    def _start(self, pod: Object) -> None:
        if "deletionTimestamp" in pod["metadata"]:
            return
        self._gang_of[pod["metadata"]["uid"]].join(int(pod["metadata"]["labels"][LABEL_RANK]), self.size)
        self._set(_path(pod), "Running", running={"startedAt": "2027-01-15T08:00:05Z"})

    def _end(self, pod: Object) -> None:
        live = pod["status"]["phase"] in ("Pending", "Running")
        asyncio.get_running_loop().call_later(ENDING if live else 0.0, self._remove, pod)

    def _remove(self, pod: Object) -> None:
        """Remove a pod as a kubelet does: it reports how the containers ended, and then lets the object go."""
        if pod["status"]["phase"] in ("Pending", "Running"):
            finished_at = whole_time(BEGAN + asyncio.get_running_loop().time())
            self._ended(_path(pod), "Failed", {"exitCode": 143, "reason": "Error", "finishedAt": finished_at})
        self.api.remove(_path(pod))

    def _ended(self, path: str, phase: str, terminated: dict[str, Any]) -> None:
        self._set(path, phase, terminated=terminated)

    def _set(self, path: str, phase: str, **state: Any) -> None:
        pod = self.api.get(path)
        ready = "True" if phase == "Running" else "False"
        pod["spec"]["nodeName"] = "gpu-1"
        pod["status"] = {
            "phase": phase,
            "podIP": "10.4.0.1",
            "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready}],
            "containerStatuses": [{"name": "main", "state": state, "lastState": {}}],
        }
        self.api.publish("MODIFIED", path)


class Coordinator:
    """The daemon's probe of one coordinator."""

    def __init__(self, gang: Gang, target: ProbeTarget, clock: Callable[[], float]) -> None:
        self._gang = gang
        self._target = target
        self._clock = clock

    async def snapshot(self) -> RollAnswer:
        """The ranks that have registered."""
        return RollAnswer(
            at=BEGAN + self._clock(),
            coordinator=CoordinatorState.SERVING,
            latency=0.002,
            expected=self._target.expected,
            states=self._gang.roll,
            incarnation=id(self._gang),
            protocol="v2",
        )

    async def changes(self) -> AsyncGenerator[RollAnswer, None]:
        """Yield nothing: the next snapshot shows every arrival."""
        await asyncio.Event().wait()
        yield await self.snapshot()

    async def close(self) -> None:
        """Do nothing: there is no connection."""


def _path(pod: Object) -> str:
    return core(NAMESPACE, "pods", pod["metadata"]["name"])


@functools.cache
def _log_to_nowhere() -> None:
    """Format logs as in production, because that costs time, and write them to /dev/null.

    The file is never closed: the loggers hold it.
    """
    with redirect_stderr(Path(os.devnull).open("w")):
        configure_logs("json", "info")
