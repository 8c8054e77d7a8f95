"""The prober pool: one named task per experiment whose decision names a coordinator to probe.

A task probes every second until the roll is complete and every three seconds after that, so a coordinator that dies or
falls silent is known within ten seconds. Beside it, one parked call (if the protocol has it) returns each arrival, and
the last error text of a coordinator that ends, at once.

A coordinator whose answers cost more of the daemon's CPU time than its share is asked less often.

If members let NCCL's RAS be asked, and none of their processes publishes the same, it is asked beside the coordinator
once the roll has been complete, also while the coordinator does not answer.

Answers without a serving coordinator are dropped while the daemon's own event loop lags: the lag may be the cause.
Texts of a coordinator come from the run's own programs, so the secrets of the run are taken out (``private``).
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import structlog

from muster.api.values.secrets import secrets_of, without_secrets
from muster.kube.cancellation import cancel_and_wait
from muster.state.view.roll import RollAnswer
from muster.state.vocabulary.actions import ProbeTarget
from muster.state.vocabulary.group import AGENT, DASHBOARD, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.watchers.probes.bounded.connection import Meter, metered
from muster.watchers.probes.nccl import RasProbe
from muster.watchers.probes.ray.probe import RayProbe
from muster.watchers.probes.torch.probe import TorchProbe

log = structlog.get_logger()

ASSEMBLING_PAUSE = 1.0
RUNNING_PAUSE = 3.0
TRUSTED_LAG = 1.0
"""Seconds of event-loop lag above which a silent coordinator may be caused by this daemon."""


class Prober(Protocol):
    """The prober of one coordinator."""

    async def snapshot(self) -> RollAnswer:
        """Ask the coordinator once."""

    async def close(self) -> None:
        """Close the connection."""


@runtime_checkable
class ReportsChanges(Protocol):
    """A prober of a coordinator that can be waited for."""

    def changes(self) -> AsyncGenerator[RollAnswer, None]:
        """Yield an answer whenever the coordinator reports a change."""


@runtime_checkable
class AsksMembers(Protocol):
    """A prober that also asks members, by IP, whether they belong to an earlier life of the coordinator."""

    suspects: tuple[str, ...]


@runtime_checkable
class ReadsReports(Protocol):
    """A prober that reads what the ranks report, at a pace of its own."""

    def read_now(self) -> None:
        """Read the reports with the next snapshot, whatever the pace is."""


@dataclass(slots=True, eq=False)
class _Asked:
    """A coordinator that is probed; ``wanted`` and ``over`` are a requested look at it, and its end."""

    target: ProbeTarget
    task: asyncio.Task[None] = field(init=False)
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)


class BesideIt:
    """The answers of NCCL's RAS, which are added to those of one coordinator."""

    def __init__(self, uid: str, ras: RasProbe) -> None:
        self._uid = uid
        self._ras = ras
        self._passed = self._published = False
        self._why = ""

    def added(self, answer: RollAnswer, addresses: tuple[str, ...]) -> RollAnswer:
        """Return the answer, with what RAS has reported since the last one."""
        self._passed = self._passed or answer.passed
        self._published = self._published or bool(answer.collectives)
        found = self._ras.answer(addresses if self._passed and not self._published else ())
        if self._ras.why != self._why:
            self._why = self._ras.why
            if self._why:
                log.info("no answer of NCCL's RAS", uid=self._uid, why=self._why)
        return answer if found is None or self._published else replace(answer, ras=found)

    async def close(self) -> None:
        """End the requests to RAS."""
        await self._ras.close()


@dataclass(eq=False)
class ProberPool:
    """The owner of the probe tasks."""

    heard: Callable[[str, int, RollAnswer], Awaitable[None]]
    """Takes each answer in, with the uid and the epoch."""
    make: Callable[[ProbeTarget], Prober]
    lag: Callable[[], float]
    observe: Callable[[str, RollAnswer], None]
    cpu: Callable[[], float]
    """A clock of this thread's CPU seconds."""
    ras: Callable[[], RasProbe] = RasProbe
    """Makes the probe of NCCL's RAS."""
    _asked: dict[str, _Asked] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._asked)

    def aim(self, uid: str, target: ProbeTarget | None) -> None:
        """Probe that coordinator from now on (None: stop probing)."""
        current = self._asked.get(uid)
        if current is not None:
            if target is not None and current.target.same_coordinator(target) and not current.task.done():
                current.target = target
                return
            del self._asked[uid]
            current.task.cancel()
        if target is not None:
            asked = self._asked[uid] = _Asked(target)
            asked.task = asyncio.create_task(self._ask(uid, asked), name=f"probe {uid}")
            asked.task.add_done_callback(self._ended)

    async def last_look(self, uid: str, seconds: float) -> None:
        """Ask the coordinator now, also for what the ranks report; wait for its answer, for ``seconds`` at most."""
        asked = self._asked.get(uid)
        if asked is None:
            return
        asked.over.clear()
        asked.wanted.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asked.over.wait()

    async def close(self) -> None:
        """End all probes and wait for them."""
        tasks = [asked.task for asked in self._asked.values()]
        self._asked.clear()
        await cancel_and_wait(*tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Log a probe task that failed, which is a bug. The next decision starts it again."""
        if not task.cancelled() and (error := task.exception()):
            log.error("probe failed", task=task.get_name(), exc_info=error)

    async def _ask(self, uid: str, asked: _Asked) -> None:
        prober, meter = self.make(asked.target), Meter(self.cpu)
        meter.start()
        await metered(self._probe(uid, asked, prober, meter))

    async def _probe(self, uid: str, asked: _Asked, prober: Prober, meter: Meter) -> None:
        target = asked.target
        parked: asyncio.Task[None] | None = None
        ras = BesideIt(uid, self.ras())
        try:
            while True:
                if isinstance(prober, AsksMembers):
                    prober.suspects = asked.target.suspects
                if last := asked.wanted.is_set():
                    asked.wanted.clear()
                    if isinstance(prober, ReadsReports):
                        prober.read_now()
                answer = ras.added(await prober.snapshot(), asked.target.ras)
                await self._take(uid, target, answer)
                if last:
                    asked.over.set()
                serving = answer.coordinator.serving
                waits = serving and not answer.left and (parked is None or parked.done())
                if waits and isinstance(prober, ReportsChanges):
                    parked = asyncio.create_task(
                        metered(self._follow(uid, target, prober, meter)), name=f"parked probe {uid}"
                    )
                gathered = serving and answer.passed and len(answer.arrived) >= target.expected
                with suppress(TimeoutError):
                    async with asyncio.timeout(RUNNING_PAUSE if gathered else ASSEMBLING_PAUSE):
                        await asked.wanted.wait()
                await asyncio.sleep(meter.owed())
        finally:
            await cancel_and_wait(parked)
            await ras.close()
            await prober.close()

    async def _follow(self, uid: str, target: ProbeTarget, prober: ReportsChanges, meter: Meter) -> None:
        async with aclosing(prober.changes()) as changes:
            async for answer in changes:
                await self._take(uid, target, answer)
                await asyncio.sleep(0)  # a step is measured when it ends
                await asyncio.sleep(meter.owed())

    async def _take(self, uid: str, target: ProbeTarget, answer: RollAnswer) -> None:
        self.observe(target.kind, answer)
        if answer.coordinator.serving or self.lag() < TRUSTED_LAG:
            await self.heard(uid, target.epoch, answer)


def prober_of(clock: Callable[[], float], target: ProbeTarget) -> Prober:
    """Return the prober of a coordinator; ``clock`` gives the wall time of its answers."""
    match ProbeKind(target.kind):
        case ProbeKind.JAX:
            from muster.watchers.probes.jax.probe import JaxProbe  # h2: a megabyte that other daemons do not need

            return JaxProbe(target.address, clock=clock, expected=target.expected)
        case ProbeKind.RAY:
            ports = {port.name: port.number for port in target.ports}
            return RayProbe(
                target.address,
                dashboard=ports[DASHBOARD],
                agent=ports[AGENT],
                clock=clock,
                expected=target.expected,
                job=target.job,
                submitter=target.submitter,
                token=target.token,
            )
        case ProbeKind.TORCH:
            return TorchProbe(target.address, clock=clock, expected=target.expected)
        case ProbeKind.NONE:
            raise ValueError(f"no prober for coordinators of kind {target.kind}")
        case kind:
            from muster.watchers.probes.stated import StatedProbe  # h2, as for JAX

            return StatedProbe(target.address, kind=kind, path=target.path, clock=clock)


def private(answer: RollAnswer, plan: Plan | None) -> RollAnswer:
    """Return the answer without the plan's secret values, and without text that looks like a credential."""
    work = answer.work
    if not (answer.errors or (work and work.message) or answer.detail or answer.lacks or answer.unmet):
        return answer
    groups = plan.groups if plan is not None else ()
    secrets = secrets_of(*(group.template.get("spec") for group in groups))

    def cleaned(text: str) -> str:
        return without_secrets(text, secrets)

    return replace(
        answer,
        detail=cleaned(answer.detail),
        lacks=cleaned(answer.lacks),
        unmet=cleaned(answer.unmet),
        errors=tuple(error._replace(text=cleaned(error.text)) for error in answer.errors),
        work=work._replace(message=cleaned(work.message)) if work is not None else None,
    )
