"""A daemon that runs JAXJobs, on an API server in memory and in virtual time."""

from functools import partial
from typing import Any

from muster.api.errors import ApiError
from muster.daemon.app import Daemon
from muster.daemon.settings import Settings
from muster.kinds.planning.run_object import TYPE
from muster.state.vocabulary.subject import JAXJOB, Subject
from tests.daemon.virtual_daemon import Daemons, as_test, played
from tests.fakes.history import Object
from tests.fakes.objects import ended

JOB = "/apis/kubeflow.org/v1/namespaces/team/jaxjobs/train"
DISCOVERY = f"/apis/{JAXJOB.api_version}"


class World(Daemons):
    """The API server, and daemons beside it."""

    def refuse_watches(self, error: ApiError | None) -> None:
        """Answer watches of the kind with that error; None answers them again. An open one ends within 10 min."""
        if error is None:
            self.cluster.refused.clear()
        else:
            self.cluster.refused[JAXJOB.plural] = error

    def serve(self, kind: Subject = JAXJOB) -> None:
        """Install the CRD."""
        self.api.put(f"/apis/{kind.api_version}", {"kind": "APIResourceList", "resources": [{"name": kind.plural}]})

    async def daemon(self, kinds: str = "jobsets,jaxjobs", *, name: str = "") -> Daemon:
        """Start another musterd; with a ``name`` it takes part in an election."""
        settings = Settings(run_kinds=kinds, leader_elect=bool(name))
        return await self.start(settings, name or "one")

    @property
    def status(self) -> Object:
        found: Object = self.api.objects[JOB].get("status") or {}
        return found

    @property
    def conditions(self) -> list[str]:
        """Return the type of each condition but the record; one that is not true is in brackets."""
        own = [each for each in self.status.get("conditions", ()) if each["type"] != TYPE]
        return [each["type"] if each["status"] == "True" else f"({each['type']})" for each in own]

    def condition(self, kind: str) -> Object:
        found: Object = next(each for each in self.status["conditions"] if each["type"] == kind)
        return found

    def crash(self, rank: int, code: int = 1) -> None:
        """Let the program of a rank end with an error."""
        self.cluster.play(rank, **ended(code, self.api.now(), "jax"))


def job(replicas: int = 2, *, restart: str = "OnFailure", run_policy: Object | None = None, **status: Any) -> Object:
    """Return a JAXJob."""
    container = {"name": "jax", "image": "x", "command": ["train"]}
    worker = {"replicas": replicas, "restartPolicy": restart, "template": {"spec": {"containers": [container]}}}
    spec = {"runPolicy": run_policy or {}, "jaxReplicaSpecs": {"Worker": worker}}
    metadata = {"name": "train", "namespace": "team"}
    made: Object = {"apiVersion": JAXJOB.api_version, "kind": JAXJOB.kind, "metadata": metadata, "spec": spec}
    return {**made, "status": status} if status else made


virtually = partial(as_test, play=partial(played, World))
"""Makes a test of a story in virtual time."""
