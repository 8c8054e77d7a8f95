"""Plays a recorded scenario beside a whole daemon in virtual time, and notes what a user sees and when."""

import asyncio
import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from muster.api.values.timestamps import seconds_of
from muster.daemon.settings import Settings
from muster.rollcall.seats import arrivals
from muster.state.vocabulary.actions import ProbeTarget
from muster.state.vocabulary.group import AGENT, DASHBOARD
from muster.state.vocabulary.record import ConditionType, Record
from muster.watchers.probes.ray.probe import RayProbe
from tests.daemon.virtual_daemon import Cluster, in_virtual_time, started
from tests.watched_runs.kuberay.recorded import Change, Recorded, RecordedRay, recorded

PLURALS = {
    "RayCluster": "apis/ray.io/v1/{}/rayclusters",
    "RayJob": "apis/ray.io/v1/{}/rayjobs",
    "Pod": "api/v1/{}/pods",
}
LEAD = 5.0
"""Seconds of the daemon before the scenario begins."""
EYE = 0.1
"""Seconds between two looks of the user."""
_TIME = re.compile(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"')


class Seen(NamedTuple):
    """What a user sees from that second of the scenario on. ``stuck`` is the reason of a true condition Stuck."""

    at: float
    phase: str
    reason: str
    message: str
    stuck: str
    epoch: int


class Story(NamedTuple):
    """What was seen of one run."""

    seen: tuple[Seen, ...]
    events: tuple[tuple[float, str, str], ...]
    """Second, reason and message of each line of its story."""
    written: tuple[str, ...]
    """Writes that were asked for; Events are none."""
    arrived: tuple[tuple[float, int | None], ...]
    """From which second on how many had arrived, as page and metrics say; None: it is not known."""

    def at(self, second: float) -> Seen:
        """What stood there at that second."""
        return next(each for each in reversed(self.seen) if each.at <= second)

    def arrived_at(self, second: float) -> int | None:
        """How many had arrived at that second."""
        return next(count for at, count in reversed(self.arrived) if at <= second)

    def first(self, text: str, since: float = 0.0) -> float:
        """From when on reason, message or Stuck held the text."""
        for each in self.seen:
            if each.at >= since and text in f"{each.phase} {each.reason} {each.message} {each.stuck}":
                return each.at
        raise AssertionError(f"{text!r} was never said after {since:g} s:\n{self}")

    def stuck(self) -> list[tuple[float, str]]:
        """When which reason to be stuck began."""
        found: list[tuple[float, str]] = []
        for each in self.seen:
            if each.stuck and (not found or found[-1][1] != each.stuck):
                found.append((each.at, each.stuck))
        return found

    def phases(self) -> list[str]:
        """The phases in their order."""
        found: list[str] = []
        for each in self.seen:
            if not found or found[-1] != each.phase:
                found.append(each.phase)
        return found

    def __str__(self) -> str:
        lines = [
            (each.at, f"{each.phase} {each.epoch} {each.reason} [{each.stuck}] {each.message}") for each in self.seen
        ]
        lines += [(at, f"    * {reason}: {message}") for at, reason, message in self.events]
        return "\n".join(f"{at:6.1f} {line}" for at, line in sorted(lines))


@lru_cache
def replay(name: str, title: str) -> Story:
    """Play the scenario; ``title`` is the run to look at (``rayjob/rj-ok``)."""
    scenario = recorded(name)
    wall = _began(scenario)
    seen: list[Seen] = []
    story: dict[tuple[float, str, str], None] = {}
    written: list[str] = []
    arrived: list[tuple[float, int | None]] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        cluster, began = Cluster(loop), loop.time() + LEAD
        cluster.set_by = wall - began
        _serve(cluster)
        settings = Settings(watch_kinds="rayjobs,rayclusters")
        daemon, running = started(cluster, settings, make_prober=_prober(scenario, began, cluster.wall))
        player = asyncio.create_task(_play(scenario, cluster, began), name="scenario")
        end = began + scenario.changes[-1].at + 5.0
        while loop.time() < end:
            await asyncio.sleep(EYE)
            at = round(loop.time() - began, 1)
            found = daemon.find("ray", title)
            if found is not None:
                story.update(
                    dict.fromkeys((round(line.at - wall, 1), line.reason, line.message) for line in found.record.story)
                )
                counts = arrivals(found.plan, found.record, found.view, cluster.wall())
                count = counts.arrived if counts else None
                if not arrived or arrived[-1][1] != count:
                    arrived.append((at, count))
                if not seen or _state(found.record) != seen[-1][1:]:
                    seen.append(Seen(at, *_state(found.record)))
        player.cancel()
        written.extend(
            str(each) for each in cluster.api.requests if each.method != "GET" and not each.path.endswith("/events")
        )
        daemon.stop()
        assert await running

    in_virtual_time(run())
    return Story(tuple(seen), tuple(story), tuple(written), tuple(arrived))


def _state(record: Record) -> tuple[str, str, str, str, int]:
    stuck = record.condition(ConditionType.STUCK)
    return (
        record.phase.value,
        record.reason,
        record.message,
        stuck.reason if stuck and stuck.status else "",
        record.epoch,
    )


def _prober(scenario: Recorded, began: float, clock: Callable[[], float]) -> Callable[[ProbeTarget], RayProbe]:
    def make(target: ProbeTarget) -> RayProbe:
        ports = {port.name: port.number for port in target.ports}
        return RayProbe(
            target.address,
            dashboard=ports[DASHBOARD],
            agent=ports[AGENT],
            clock=clock,
            expected=target.expected,
            job=target.job,
            submitter=target.submitter,
            ask=RecordedRay(scenario, target.address.rpartition(":")[0], began),
        )

    return make


def _serve(cluster: Cluster) -> None:
    resources = [{"name": "rayclusters"}, {"name": "rayjobs"}]
    cluster.api.put("/apis/ray.io/v1", {"kind": "APIResourceList", "resources": resources})


async def _play(scenario: Recorded, cluster: Cluster, began: float) -> None:
    loop = asyncio.get_running_loop()
    for change in scenario.changes:
        if change.kind not in PLURALS:
            continue
        await asyncio.sleep(max(0.0, began + change.at - loop.time()))
        metadata = change.object["metadata"]
        place = PLURALS[change.kind].format(f"namespaces/{metadata['namespace']}")
        path = f"/{place}/{metadata['name']}"
        if change.type == "DELETED":
            cluster.api.remove(path)
            continue
        own = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "finalizers")}
        cluster.api.put(path, {**change.object, "kind": change.kind, "metadata": own})


def _began(scenario: Recorded) -> float:
    """The wall second at which the scenario began: no time in it is later than its moment, but those of a deletion."""
    return max(seconds_of(text) - change.at for change in scenario.changes for text in _times(change))


def _times(change: Change) -> list[str]:
    metadata: dict[str, Any] = change.object["metadata"]
    rest = {key: value for key, value in metadata.items() if key != "deletionTimestamp"}
    return [text.strip('"') for text in _TIME.findall(json.dumps({**change.object, "metadata": rest}))]
