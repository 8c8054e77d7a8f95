"""Stands in for scheduler, kubelet and programs: pods are scheduled, run, fail or succeed, and end when deleted.

There is no process behind a pod; its status is what a kubelet would report of such a program. Members fail as their
scenario says, when all run; epochs in which none does succeed.
"""

import asyncio
import time
from dataclasses import dataclass, field

from muster.api.names import CONTAINER, LABEL_EPOCH, LABEL_RANK, LABEL_UID
from muster.api.values.timestamps import micro_time
from tests.faults.direct import MERGE, Direct, Object, pod_path
from tests.scenarios.incidents import Fails
from tests.scenarios.operators import SIGABRT
from tests.scenarios.scenario import Scenario

START = 0.05
"""Seconds from a pod's creation to its start; each rank takes ``STEP`` longer than the one before."""
STEP = 0.05
READY = 0.3
"""Seconds from start to readiness: long enough for a phase of its own."""
WORK = 0.4
"""Seconds from a ready gang to its success or failure."""
OBEY = 0.3
"""Seconds from SIGTERM to the end."""


@dataclass(slots=True)
class _Program:
    pod: Object
    rank: int
    address: str = ""
    running: bool = False
    ready: bool = False
    """Ready, and reported as ready."""
    ended: bool = False
    dying: bool = False
    reporting: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class _Gang:
    epoch: int
    size: int
    scenario: Scenario
    programs: dict[int, _Program] = field(default_factory=dict)
    decided: bool = False


def address_of(number: int) -> str:
    """An address of the pod's own, from which no probe leaves the machine."""
    return f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


class Kubelet:
    """The kubelet of all nodes. The owner passes it every change of a pod and the task group for its tasks."""

    def __init__(self, direct: Direct, tasks: asyncio.TaskGroup) -> None:
        self._direct = direct
        self._tasks = tasks
        self._orders: dict[str, tuple[int, Scenario]] = {}
        self._gangs: dict[tuple[str, int], _Gang] = {}
        self._programs: dict[str, _Program] = {}
        self._addresses = 0

    def expect(self, namespace: str, size: int, scenario: Scenario) -> None:
        """Set size and scenario of the gangs of a namespace."""
        self._orders[namespace] = (size, scenario)

    def changed(self, kind: str, pod: Object) -> None:
        """A pod was created, changed or removed."""
        metadata = pod["metadata"]
        uid, labels = metadata["uid"], metadata["labels"]
        order = self._orders.get(metadata["namespace"])
        if order is None:
            return
        if kind == "DELETED":
            if program := self._programs.pop(uid, None):
                program.running, program.ended = False, True
            return
        program = self._programs.get(uid)
        if program is None:
            epoch = int(labels[LABEL_EPOCH])
            gang = self._gangs.setdefault((labels[LABEL_UID], epoch), _Gang(epoch, *order))
            program = self._programs[uid] = gang.programs[int(labels[LABEL_RANK])] = _Program(
                pod, int(labels[LABEL_RANK])
            )
            self._do(self._run(gang, program), f"run {metadata['name']}")
        if metadata.get("deletionTimestamp") and not program.dying:
            program.dying = True
            self._do(self._end(program), f"end {metadata['name']}")

    def _do(self, work: "asyncio._CoroutineLike[None]", name: str) -> None:
        self._tasks.create_task(work, name=name)

    async def _run(self, gang: _Gang, program: _Program) -> None:
        await asyncio.sleep(START + STEP * program.rank)
        if program.dying or program.ended:
            return
        target = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": f"node-{program.rank}"}}
        await self._direct.call("POST", f"{pod_path(program.pod)}/binding", target)
        if program.dying or program.ended:
            return
        program.running = True
        self._addresses += 1
        program.address = address_of(self._addresses)
        state = {"running": {"startedAt": micro_time(time.time())}}
        await self._report(program, "Running", state)
        await asyncio.sleep(READY)
        await self._report(program, "Running", state, ready=True)
        program.ready = program.running
        if sum(each.running and each.ready for each in gang.programs.values()) == gang.size and not gang.decided:
            gang.decided = True
            await asyncio.sleep(WORK)
            await self._fate(gang)

    async def _fate(self, gang: _Gang) -> None:
        ranks = sorted(gang.programs)
        fails = [one for one in gang.scenario.incidents if isinstance(one, Fails) and gang.epoch in one.epochs]
        if not fails:
            for rank in ranks:
                await self._exit(gang.programs[rank], 0)
                await asyncio.sleep(STEP)
            return
        for one in fails:
            await self._exit(gang.programs[one.rank % gang.size], one.code)
        if gang.scenario.survivors == "abort":
            await asyncio.sleep(STEP)
            for rank in ranks:
                await self._exit(gang.programs[rank], SIGABRT)

    async def _exit(self, program: _Program, code: int) -> None:
        if not program.running:
            return
        program.running, program.ready, program.ended = False, False, True
        said = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": micro_time(time.time())}
        await self._report(program, "Failed" if code else "Succeeded", {"terminated": said})

    async def _end(self, program: _Program) -> None:
        """The pod was deleted: the program ends after a while, and then the object is removed."""
        if program.running:
            await asyncio.sleep(OBEY)
            await self._exit(program, 143)
        program.ended = True
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": program.pod["metadata"]["uid"]}}
        await self._direct.call("DELETE", pod_path(program.pod), options)

    async def _report(self, program: _Program, phase: str, state: Object, *, ready: bool = False) -> None:
        """Report status changes one after the other, so that an ended pod never runs again."""
        status = {
            "phase": phase,
            "podIP": program.address,
            "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": str(ready)}],
            "containerStatuses": [{"name": CONTAINER, "ready": ready, "state": state}],
        }
        body = {"metadata": {"uid": program.pod["metadata"]["uid"]}, "status": status}
        async with program.reporting:
            if program.running or phase != "Running":
                await self._direct.call("PATCH", f"{pod_path(program.pod)}/status", body, content_type=MERGE)
