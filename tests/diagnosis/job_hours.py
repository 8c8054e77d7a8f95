"""Healthy hours: gangs start slowly, write checkpoints, pause, are evicted and heal; none of it may be called Stuck.

``python -m tests.diagnosis.job_hours --hours 1000`` plays so many hours of gangs on the unmodified daemon, in virtual
time, and prints each Stuck that was reported. What happens to a gang, drawn at random for each of its lives:

- the image of one member, or of all, is pulled for up to 5 minutes;
- a node is added by an autoscaler: a member is unschedulable for 55 s;
- imports take up to 3 minutes, and for each member between three quarters and five quarters of that;
- the coordinator stops for 3 s, as in a garbage collection, about ten times an hour;
- checkpoints: the program is quiet for many minutes. Only a program that reports steps shows even that: those of jax
  do, with pauses of up to a minute, of almost five times the longest so far, and announced ones of up to half an hour;
- a member is preempted, and the gang starts again.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import NamedTuple, TypeVar

from muster.state.view.progress import HANG_INTERVALS
from tests.scenarios.incidents import Pauses, Preempted, SlowImage
from tests.scenarios.scenario import End, Scenario, path_of
from tests.simulation.oracles.own_writes import OwnWrites
from tests.simulation.plans.plan import Plan
from tests.simulation.world.gang import Gang
from tests.simulation.world.kubelet import Kubelet
from tests.simulation.world.process import Process
from tests.simulation.world.user_actions import Users
from tests.simulation.world.world import World

HOUR = 3600.0
LIFE = 4.0
"""Hours that one experiment works."""
TOGETHER = 25
"""Experiments that one daemon has at a time."""
OPERATORS = ("jax", "pytorch", "kuberay", "xgboost", "jobset")
SIZE = 4
PULL, IMPORTS, NODE, PAUSE = 300.0, 180.0, 55.0, 3.0
"""Seconds."""
PAUSES, APART = 10.0, 20.0
"""Pauses of the coordinator in an hour, and the fewest seconds between two: closer ones are one long stop."""
STEP = 2.0
"""Seconds of a step of a program that reports steps."""
CHECKPOINT, EVALUATION = 50.0, 1800.0
"""Seconds: the longest pauses that programs make unannounced from the start, and that they announce."""
EVICTED = 0.25
"""Share of the lives in which a member is preempted."""

T = TypeVar("T")


class SlowKubelet(Kubelet):
    """Nodes that come late, and images that take minutes."""

    def _schedule(self, process: Process) -> None:
        draw = draw_of(process)
        if draw.random() < 0.2 and not process.waiting:
            process.waiting = "Unschedulable"
            self.report(process)
            self.world.loop.call_later(NODE, self._schedule, process)
            return
        super()._schedule(process)


class SlowGang(Gang):
    """Programs that import for minutes, and coordinators that pause."""

    def started(self, process: Process) -> None:
        imports = Random(f"{process.experiment}/{process.epoch}").choice((2.0, 20.0, 60.0, IMPORTS))
        took = imports * draw_of(process).uniform(0.75, 1.25)
        self.world.loop.call_later(took, self._call, process)

    def _call(self, process: Process) -> None:
        super()._call(process)
        if process.serving:
            self._pause_later(process)

    def _pause_later(self, process: Process) -> None:
        self.world.loop.call_later(APART + self.world.random.expovariate(PAUSES / HOUR), self._pause, process)

    def _pause(self, process: Process) -> None:
        if process.running:
            process.silent = True
            self.world.loop.call_later(PAUSE, self._resume, process)

    def _resume(self, process: Process) -> None:
        process.silent = False
        self._pause_later(process)


class NoUsers(Users):
    """Users who submit only when the world asks them to."""

    def schedule(self) -> None:
        """Nothing is scheduled in advance."""


class Said(NamedTuple):
    """A Stuck that was reported of a healthy gang."""

    at: float
    experiment: str
    reason: str
    message: str


class JobHours(World):
    """A world of healthy gangs of one operator."""

    gang_type = SlowGang
    kubelet_type = SlowKubelet

    def __init__(self, operator: str, hours: float, seed: int) -> None:
        super().__init__(Plan("happy", SIZE, operator=operator, seed=seed))
        self.scenario = Scenario("hours", End("Succeeded"), run=LIFE * HOUR, reports=STEP)
        self.users = NoUsers(self)
        self.stuck: list[Said] = []
        self.phases: Counter[str] = Counter()
        self.disruptions = 0
        self.hours = 0.0
        self._experiments = max(1, round(hours / LIFE))
        self._forgotten = 0

    def incidents_of(self, process: Process, *kinds: type[T]) -> list[T]:
        """What happens to that process."""
        return [each for each in _incidents(process) if isinstance(each, kinds)]

    async def _rest(self) -> None:
        for first in range(0, self._experiments, TOGETHER):
            names = [f"run-{number}" for number in range(first, min(first + TOGETHER, self._experiments))]
            for name in names:
                self.users.submit(name)
            await self._over(names)
            for name in names:
                status = self.api.objects[path_of(name)]["status"]
                self.phases[status["phase"]] += 1
                self.disruptions += status.get("disruptions", 0)
                self.hours += LIFE
                self.api.delete(path_of(name))
            await asyncio.sleep(120.0)
            self._forget()

    async def _over(self, names: list[str]) -> None:
        end = self.loop.time() + 3 * LIFE * HOUR
        while self.loop.time() < end:
            await asyncio.sleep(60.0)
            statuses = [(self.api.objects[path_of(name)].get("status") or {}) for name in names]
            if all(each.get("phase") in ("Succeeded", "Failed") for each in statuses):
                break
        self._collect_stuck()

    def _collect_stuck(self) -> None:
        """Each Stuck in the story of an experiment."""
        for event in self.objects("events"):
            if event["reason"] == "Stuck":
                name = event["involvedObject"]["name"]
                reason, _, message = event["message"].partition(": ")
                self.stuck.append(Said(self.loop.time(), name, reason, message))

    def _forget(self) -> None:
        """Drop the world's own history, which would grow here."""
        for path in [path for path in self.api.objects if "/events/" in path]:
            del self.api.objects[path]
        for change in self.api.history.changes[self._forgotten :]:
            change.kind, change.path, change.before, change.after = "DELETED", "", None, {}
        self._forgotten = len(self.api.history.changes)
        for kept in (self.api.requests, self.writes, self.incident_log, self.invariants.story_lines):
            kept.clear()
        self.kubelet.processes.clear()
        self.runs[-1].transport.own = OwnWrites(self)


def draw_of(process: Process) -> Random:
    """The draws of one process, the same whenever it is asked."""
    return Random(process.uid)


def _incidents(process: Process) -> Iterator[object]:
    life = Random(f"{process.experiment_name}/{process.epoch}")
    everybody, one = life.random() < 0.2, life.randrange(process.size)
    if everybody or (life.random() < 0.4 and process.rank == one):
        yield SlowImage(seconds=draw_of(process).uniform(10.0, PULL))
    if process.epoch == 0 and life.random() < EVICTED and process.rank == one:
        yield Preempted(after=life.uniform(60.0, LIFE * HOUR))
    if process.rank == one:
        yield from _pauses(life)


def _pauses(life: Random) -> Iterator[Pauses]:
    """A checkpoint or an evaluation every 5 to 20 minutes of steps; unannounced ones grow with the longest so far."""
    after, longest = life.uniform(20.0, 60.0), CHECKPOINT / HANG_INTERVALS
    while after < LIFE * HOUR:
        announced = life.random() < 0.3
        seconds = life.uniform(5.0, EVALUATION if announced else min(0.9 * HANG_INTERVALS * longest, EVALUATION))
        yield Pauses(after=after, seconds=seconds, announced=announced)
        longest = longest if announced else max(longest, seconds)
        after += life.uniform(300.0, 1200.0)


def play(hours: float, seed: int) -> Iterator[JobHours]:
    """A world for each operator, which share the hours."""
    for operator in OPERATORS:
        world = JobHours(operator, hours / len(OPERATORS), seed)
        world.play()
        yield world


def main() -> int:
    """Play, and print what was reported; 1 if any gang was called Stuck or did not succeed."""
    parser = argparse.ArgumentParser(prog="python -m tests.diagnosis.job_hours", description=__doc__)
    parser.add_argument("--hours", type=float, default=1000.0, help="hours of healthy gangs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of what happens to them (default: %(default)s)")
    arguments = parser.parse_args()
    began, hours, wrong = time.process_time(), 0.0, 0
    for world in play(arguments.hours, arguments.seed):
        hours += world.hours
        ended = ", ".join(f"{count} {phase}" for phase, count in sorted(world.phases.items()))
        _say(f"{world.plan.operator:10} {world.hours:6.0f} h: {ended}, {world.disruptions} evictions, "
             f"{len(world.stuck)} false Stuck, {len(world.violations)} violations")  # fmt: skip
        wrong += len(world.stuck) + len(world.violations) + world.phases.total() - world.phases["Succeeded"]
        for said in world.stuck[:8]:
            _say(f"  {said.experiment}: {said.reason}: {said.message}")
        for violation in world.violations[:8]:
            _say(f"  {violation}")
    _say(f"{hours:.0f} job-hours in {time.process_time() - began:.0f} s of CPU: {wrong} wrong")
    return 1 if wrong else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
