"""A daemon that watches the runs of other controllers, on an API server in memory and in virtual time."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from muster.api.errors import NotFound
from muster.daemon.app import Daemon
from muster.daemon.settings import Settings
from muster.kinds.registry import WATCHED_KINDS
from muster.metrics.collector import Subject
from muster.state.vocabulary.record import Condition, ConditionType
from tests.daemon.virtual_daemon import Daemons, as_test, played, seen_by
from tests.fakes import objects
from tests.fakes.history import Object

PODS = "/api/v1/namespaces/team/pods"


class World(Daemons):
    """The API server, with the controllers that the test plays, and daemons beside it."""

    async def daemon(self, kinds: str = "all", **settings: Any) -> Daemon:
        """Start another musterd."""
        return await self.start(Settings(watch_kinds=kinds, **settings))

    async def watches(self, kind: str, **settings: Any) -> None:
        """Install the CRD of a watched kind, and start a musterd that watches over its runs."""
        self.serve(kind)
        await self.daemon(kind, **settings)

    def serve(self, name: str) -> None:
        """Install the CRD of a watched kind."""
        version, plural = WATCHED_KINDS[name].subject.api_version, WATCHED_KINDS[name].subject.plural
        path = f"/apis/{version}"
        before = self.api.objects.get(path, {}).get("resources", [])
        self.api.put(path, {"kind": "APIResourceList", "resources": [*before, {"name": plural}]})
        self.cluster.refused.pop(plural, None)

    def uninstall(self, name: str) -> None:
        """Remove its CRD. Open watches end within ten minutes."""
        self.api.put(f"/apis/{WATCHED_KINDS[name].subject.api_version}", {"kind": "APIResourceList", "resources": []})
        gone = NotFound("the server could not find the requested resource", status=404, reason="NotFound")
        self.cluster.refused[WATCHED_KINDS[name].subject.plural] = gone

    def found(self, title: str, namespace: str = "team") -> Subject:
        """Return the daemon's entry of a run."""
        return seen_by(self.daemons[-1][0], title, namespace)

    def stuck(self, title: str) -> Condition:
        """Return the condition Stuck of a run."""
        found = self.found(title).record.condition(ConditionType.STUCK)
        assert found is not None
        return found

    def titles(self) -> list[str]:
        """Return all subjects."""
        return sorted(subject.plan.title for subject in self.daemons[-1][0].subjects())

    def pod(
        self, name: str, *, ready: bool = True, ip: str = "10.0.0.1", namespace: str = "team", **metadata: Any
    ) -> Object:
        """Make a running pod, or change it."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        status = objects.running("train", ready=ready, ip=ip, since=self.api.now())
        before = self.api.objects.get(path, {})
        own = {"namespace": namespace, **before.get("metadata", {}), **metadata}
        spec = {"nodeName": "n1", "restartPolicy": "Never"}
        return self.api.put(path, {"kind": "Pod", "metadata": own, "spec": spec, "status": status})

    def end(self, name: str, code: int = 0, namespace: str = "team") -> None:
        """Let the program of a pod end."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        found = self.api.objects[path]
        status = {**found["status"], **objects.ended(code, self.api.now(), "train")}
        self.api.put(path, {**found, "status": status})

    def lines(self) -> list[str]:
        """Return reason and message of each Event."""
        return [f"{each['reason']}: {each['message']}" for each in self.cluster.events()]


def _judged(story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def judged(world: World) -> None:
        await story(world)
        assert world.written() == [], "a watched run is only read"

    played(World, judged)


virtually = partial(as_test, play=_judged)
"""Makes a test of a story in virtual time. Nothing but Events may be written."""
virtually_with_writes = partial(as_test, play=partial(played, World))
"""Makes a test of a story that is about writes, in virtual time."""
