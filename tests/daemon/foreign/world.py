"""A daemon that runs JAXJobs, on an API server in memory and in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Any

from muster.api.errors import ApiError
from muster.daemon.app import Daemon
from muster.daemon.settings import Settings
from muster.state.foreign.record_condition import TYPE
from muster.state.foreign.subject import JAXJOB
from muster.state.view.roll import CoordinatorState, RollAnswer
from tests.daemon.virtual_daemon import Cluster, Prober
from tests.fakes.history import Object
from tests.simulation.world.virtual_loop import VirtualLoop

JOB = "/apis/kubeflow.org/v1/namespaces/team/jaxjobs/train"
DISCOVERY = f"/apis/{JAXJOB.api_version}"


class Refusing(Cluster):
    """A cluster whose watches of JAXJobs can be refused."""

    refused: ApiError | None = None

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        if self.refused is not None and path.endswith(JAXJOB.plural):
            raise self.refused
        return super().lines(path, params=params, silence=silence)


class World:
    """The API server, and daemons beside it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.cluster = Refusing(loop)
        self.api = self.cluster.api
        self.cluster.roll = lambda now: RollAnswer(at=now, coordinator=CoordinatorState.REFUSED)
        self.loop = loop
        self.daemons: list[tuple[Daemon, asyncio.Task[bool]]] = []

    def refuse_watches(self, error: ApiError | None) -> None:
        """Answer watches of the kind with that error; None: they are answered again. An open one ends within 10 min."""
        self.cluster.refused = error

    def serve(self) -> None:
        """Install the CRD."""
        self.api.put(DISCOVERY, {"kind": "APIResourceList", "resources": [{"name": JAXJOB.plural}]})

    async def daemon(self, kinds: str = "jobsets,jaxjobs", *, name: str = "") -> Daemon:
        """Start another musterd; with a ``name`` it takes part in an election."""
        daemon = Daemon(
            self.cluster,
            Settings(foreign_kinds=kinds, leader_elect=bool(name)),
            clock=self.cluster.wall,
            monotonic=self.loop.time,
            random=Random(1),
            instance=name or "one",
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

    @property
    def status(self) -> Object:
        found: Object = self.api.objects[JOB].get("status") or {}
        return found

    @property
    def conditions(self) -> list[str]:
        """Type of each condition but the record; one that is not true is in brackets."""
        own = [each for each in self.status.get("conditions", ()) if each["type"] != TYPE]
        return [each["type"] if each["status"] == "True" else f"({each['type']})" for each in own]

    def condition(self, kind: str) -> Object:
        found: Object = next(each for each in self.status["conditions"] if each["type"] == kind)
        return found

    def written(self) -> list[str]:
        """The writes that were asked for, Events left out."""
        writes = [request for request in self.api.requests if request.method != "GET"]
        return [str(request) for request in writes if not request.path.endswith("/events")]

    def crash(self, rank: int, code: int = 1) -> None:
        """The program of a rank ends with an error."""
        ended = {"exitCode": code, "reason": "Error", "finishedAt": self.api.now()}
        states = [{"name": "jax", "ready": False, "state": {"terminated": ended}}]
        self.cluster.play(rank, phase="Failed", containerStatuses=states)


def job(replicas: int = 2, *, restart: str = "OnFailure", run_policy: Object | None = None, **status: Any) -> Object:
    """A JAXJob."""
    container = {"name": "jax", "image": "x", "command": ["train"]}
    worker = {
        "replicas": replicas,
        "restartPolicy": restart,
        "template": {"spec": {"containers": [container]}},
    }
    spec = {"runPolicy": run_policy or {}, "jaxReplicaSpecs": {"Worker": worker}}
    metadata = {"name": "train", "namespace": "team"}
    made: Object = {"apiVersion": JAXJOB.api_version, "kind": JAXJOB.kind, "metadata": metadata, "spec": spec}
    return {**made, "status": status} if status else made


def virtually(story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """Run a story in virtual time."""

    async def run() -> None:
        world = World(asyncio.get_running_loop())
        await story(world)
        while world.daemons:
            await world.stop()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())
