"""A daemon that watches over the runs of other controllers, on an API server in memory and in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Any

from muster.api.errors import NotFound
from muster.daemon.app import Daemon
from muster.daemon.settings import Settings
from muster.metrics.collector import Subject
from muster.state.observed.kinds import OBSERVED
from muster.state.view.roll import CoordinatorState, RollAnswer
from tests.daemon.virtual_daemon import Cluster, Prober
from tests.fakes.history import Object
from tests.simulation.world.virtual_loop import VirtualLoop

PODS = "/api/v1/namespaces/team/pods"


class Refusing(Cluster):
    """A cluster that refuses watches of some kinds, by their plurals."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.unserved: set[str] = set()

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        if path.rsplit("/", 1)[1] in self.unserved:
            raise NotFound("the server could not find the requested resource", status=404, reason="NotFound")
        return super().lines(path, params=params, silence=silence)


class World:
    """The API server, with the controllers that the test plays, and daemons beside it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.cluster = Refusing(loop)
        self.api = self.cluster.api
        self.cluster.roll = lambda now: RollAnswer(at=now, coordinator=CoordinatorState.REFUSED)
        self.loop = loop
        self.daemons: list[tuple[Daemon, asyncio.Task[bool]]] = []

    async def daemon(self, kinds: str = "all", **settings: Any) -> Daemon:
        """Start another musterd."""
        daemon = Daemon(
            self.cluster,
            Settings(observe_kinds=kinds, **settings),
            clock=self.cluster.wall,
            monotonic=self.loop.time,
            random=Random(1),
            instance="one",
            version="0",
            make_prober=lambda _target: Prober(self.cluster),
        )
        self.daemons.append((daemon, asyncio.create_task(daemon.run(), name="daemon")))
        await asyncio.sleep(3)
        return daemon

    async def stop(self, number: int = -1) -> None:
        """End a daemon, the last one by default."""
        daemon, running = self.daemons.pop(number)
        daemon.stop()
        assert await running, "the daemon did not end cleanly"

    def serve(self, name: str) -> None:
        """Install the CRD of an observed kind."""
        version, plural = OBSERVED[name].subject.api_version, OBSERVED[name].subject.plural
        path = f"/apis/{version}"
        before = self.api.objects.get(path, {}).get("resources", [])
        self.api.put(path, {"kind": "APIResourceList", "resources": [*before, {"name": plural}]})
        self.cluster.unserved.discard(plural)

    def uninstall(self, name: str) -> None:
        """Remove its CRD. Open watches end within ten minutes."""
        self.api.put(f"/apis/{OBSERVED[name].subject.api_version}", {"kind": "APIResourceList", "resources": []})
        self.cluster.unserved.add(OBSERVED[name].subject.plural)

    def found(self, title: str, namespace: str = "team") -> Subject:
        """What the daemon knows of a run."""
        subject = self.daemons[-1][0].find(namespace, title)
        assert subject is not None, f"{title} is not watched over"
        return subject

    def titles(self) -> list[str]:
        """All subjects."""
        return sorted(subject.plan.title for subject in self.daemons[-1][0].subjects())

    def pod(
        self, name: str, *, ready: bool = True, ip: str = "10.0.0.1", namespace: str = "team", **metadata: Any
    ) -> Object:
        """Make a pod that runs, or change it."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        running = {"name": "train", "ready": ready, "state": {"running": {"startedAt": self.api.now()}}}
        conditions = [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": "True" if ready else "False"},
        ]
        status = {"phase": "Running", "podIP": ip, "containerStatuses": [running], "conditions": conditions}
        before = self.api.objects.get(path, {})
        own = {"namespace": namespace, **before.get("metadata", {}), **metadata}
        spec = {"nodeName": "n1", "restartPolicy": "Never"}
        return self.api.put(path, {"kind": "Pod", "metadata": own, "spec": spec, "status": status})

    def end(self, name: str, code: int = 0, namespace: str = "team") -> None:
        """The program of a pod ends."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        reason = "Error" if code else "Completed"
        ended = {"exitCode": code, "reason": reason, "finishedAt": self.api.now()}
        states = [{"name": "train", "ready": False, "state": {"terminated": ended}}]
        found = self.api.objects[path]
        status = {**found["status"], "phase": "Failed" if code else "Succeeded", "containerStatuses": states}
        self.api.put(path, {**found, "status": status})

    def written(self) -> list[str]:
        """The writes that were asked for, Events left out: there must be none."""
        writes = [request for request in self.api.requests if request.method != "GET"]
        return [str(request) for request in writes if not request.path.endswith("/events")]

    def said(self) -> list[str]:
        """Reason and message of each Event."""
        return [f"{each['reason']}: {each['message']}" for each in self.cluster.events()]


def virtually(story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """Run a story in virtual time. Nothing may be written but Events."""

    async def run() -> None:
        world = World(asyncio.get_running_loop())
        await story(world)
        while world.daemons:
            await world.stop()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())
