"""A daemon that runs JAXJobs, on an API server in memory and in virtual time."""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from muster.daemon.app import Daemon
from muster.daemon.settings import Settings
from muster.state.foreign.record_condition import TYPE
from muster.state.roll import CoordinatorState, RollAnswer
from muster.state.subject import JAXJOB
from tests.daemon.virtual_daemon import Cluster, Prober
from tests.fakes.history import Object
from tests.simulation.world.virtual_loop import VirtualLoop

JOB = "/apis/kubeflow.org/v1/namespaces/team/jaxjobs/train"
DISCOVERY = f"/apis/{JAXJOB.api_version}"


class World:
    """The API server, and daemons beside it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.cluster = Cluster(loop)
        self.api = self.cluster.api
        self.cluster.roll = lambda now: RollAnswer(at=now, coordinator=CoordinatorState.REFUSED)
        self.loop = loop
        self.daemons: list[tuple[Daemon, asyncio.Task[bool]]] = []

    def serve(self) -> None:
        """Install the CRD."""
        self.api.put(DISCOVERY, {"kind": "APIResourceList", "resources": [{"name": JAXJOB.plural}]})

    async def daemon(self, kinds: str = "jobsets,jaxjobs") -> Daemon:
        """Start another musterd."""
        daemon = Daemon(
            self.cluster,
            Settings(foreign_kinds=kinds),
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

    async def stop(self) -> None:
        """End the last daemon."""
        daemon, running = self.daemons.pop()
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
