"""Looks for incidents while this daemon leads, and counts what stuck runs hold.

A look every ``EVERY`` seconds walks the runs in slices. Only a run that is Stuck, has just failed, or waits for volumes
and network is diagnosed (``signs.shows``), and again only when its record has changed or its last diagnosis is
``FRESH`` seconds old, at most ``MOST`` of them in one look: the others keep what they showed until the next one.
"""

import asyncio
import contextlib
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import structlog

from muster.api.values.accelerators import Accelerators
from muster.daemon.clocks import in_slices
from muster.metrics.collector import Subject
from muster.state.facts.context import held
from muster.state.facts.incidents.belief import STORAGES, faulty_nodes, hangs, proven, storages_of, suspected
from muster.state.facts.incidents.grouping import Places, line
from muster.state.facts.incidents.signs import MOST_MEMBERS, Run, Sign, is_stuck, shows, signs_of
from muster.state.facts.incidents.subjects import DEVICE, NODE
from muster.state.facts.incidents.tracking import Tracking, following
from muster.state.view.own import Remark
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase, Record, StoryLine
from muster.watchers.probes.bounded.connection import in_turns

log = structlog.get_logger()

EVERY = 5.0
FRESH = 30.0
MOST = 1000
"""Most diagnoses of one look."""
SLICE = 50
"""Diagnoses, or twenty times as many runs, after which other tasks may run."""
_SHARED = frozenset({DEVICE, *STORAGES})
LONGEST = 3 * EVERY
"""Most seconds that count between two looks: the time of a standby is not its own."""


class _Look(NamedTuple):
    record: Record
    at: float
    remark: Remark | None
    signs: tuple[Sign, ...]


@dataclass(eq=False)
class IncidentWatch:
    """The watch for incidents among ``subjects``."""

    subjects: Callable[[], Iterable[Subject]]
    leading: Callable[[], bool]
    explained: Callable[[Plan, StoryLine], None]
    """Called once with each run that an incident explains."""
    clock: Callable[[], float]
    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    accelerators: Accelerators
    places: Callable[[], Places] = Places
    """Gives the racks, pools and zones of nodes."""
    failed: Callable[[str], None] = lambda _place: None
    tracking: Tracking = field(default_factory=Tracking)
    lost: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    """Accelerator-seconds that stuck runs held, by resource and reason."""
    _looks: dict[str, _Look] = field(default_factory=dict)
    _announced: dict[str, tuple[str, float]] = field(default_factory=dict)
    """The last announcement about a run and the time since which it was Stuck then, by uid."""
    _last: float | None = None

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.sleep(EVERY)
            if self.leading():
                await self.look()
            elif self._last is not None:
                self.stand_by()

    def stand_by(self) -> None:
        """Stop leading: another daemon looks for incidents."""
        self.tracking, self._last = Tracking(), None
        self._looks.clear()
        self._announced.clear()

    async def look(self) -> None:
        """Look at all runs once."""
        now, moment = self.clock(), self.monotonic()
        spent = min(moment - self._last, LONGEST) if self._last is not None else 0.0
        self._last = moment
        every = in_slices(self.subjects(), 20 * SLICE)
        seen = {each.plan.uid: each async for each in every if shows(each.record, each.view, now)}
        self._looks = {uid: look for uid, look in self._looks.items() if uid in seen}
        await self._diagnose(seen, now)
        async for subject in in_slices(seen.values(), 20 * SLICE):
            with contextlib.suppress(Exception):  # one that cannot be read was logged by its diagnosis
                if is_stuck(subject.record):
                    self._count(subject, spent)
        signs = [sign for look in self._looks.values() for sign in look.signs]
        shared = {(sign.kind, sign.subject) for sign in signs if sign.kind in _SHARED}
        in_use = await self._in_use(shared, faulty_nodes(signs), seen, now)
        self.tracking = await in_turns(following(self.tracking, signs, now, self.places(), in_use))
        await self._announce(seen)

    async def _diagnose(self, stuck: dict[str, Subject], now: float) -> None:
        due = [uid for uid, each in stuck.items() if self._is_due(uid, each, now)]
        due.sort(key=lambda uid: self._looks[uid].at if uid in self._looks else 0.0)
        async for uid in in_slices(due[:MOST], SLICE):
            subject = stuck[uid]
            try:
                signs = signs_of(subject.at(now))
            except Exception:  # one run must not hide the incidents of the others
                log.exception("run left out of incidents", namespace=subject.plan.namespace, run=subject.plan.title)
                self.failed("step")
                signs = ()
            self._looks[uid] = _Look(subject.record, now, subject.view.remark, signs)

    def _is_due(self, uid: str, each: Subject, now: float) -> bool:
        seen = self._looks.get(uid)
        if seen is None or seen.record is not each.record or seen.remark is not each.view.remark:
            return True
        return not 0 <= now - seen.at < FRESH

    async def _in_use(
        self, shared: set[tuple[str, str]], faulty: Counter[str], seen: Mapping[str, Subject], now: float
    ) -> set[tuple[str, str]]:
        """Return what healthy runs use: devices, storages over which no gang is proven to hang, and nodes.

        ``faulty`` has the runs that fail on a node; it is in use if as many healthy runs are on it.
        """
        storages = {each for each in shared if each[0] in STORAGES}
        every = in_slices(seen.values() if storages else (), 20 * SLICE)
        hung = [storages & storages_of(subject.plan) async for subject in every if hangs(subject.record)]
        suspects, devices = suspected(hung).keys(), shared - storages
        found: set[tuple[str, str]] = set()
        well, others, beside = Counter[tuple[str, str]](), False, Counter[str]()
        left = iter(self.subjects())
        while (suspects or devices - found or faulty) and (batch := list(islice(left, SLICE))):
            for each in batch:
                if each.record.phase is Phase.RUNNING and not shows(each.record, each.view, now):
                    with contextlib.suppress(Exception):  # one that cannot be read shows nothing
                        found |= devices & {(DEVICE, name) for name, _ in held(each.plan, each.view)}
                        uses = suspects & storages_of(each.plan)
                        well.update(uses)
                        others = others or not uses
                        members = islice(each.at(now).tally.members.values(), MOST_MEMBERS) if faulty else ()
                        beside.update({pod.node for pod in members} & faulty.keys())
            await asyncio.sleep(0)
        found |= {(NODE, node) for node, runs in faulty.items() if beside[node] >= runs}
        return found | (storages - proven(hung, well, others=others))

    def _count(self, subject: Subject, spent: float) -> None:
        for resource, number in self.accelerators.of(held(subject.plan, subject.view)).items():
            self.lost[resource, subject.record.stuck_reason] += number * spent

    async def _announce(self, stuck: dict[str, Subject]) -> None:
        explained = {run: each for each in self.tracking.shown for run in each.explains}
        self._announced = {uid: announced for uid, announced in self._announced.items() if uid in stuck}
        async for uid, subject in in_slices(stuck.items(), 20 * SLICE):
            incident = explained.get(Run(subject.plan.namespace, subject.plan.title))
            if incident is None:
                continue
            # Take the time from the status, so that another leader makes the same Event.
            since = float(int(_since(subject.record)))
            written = line(incident.key, since, subject.record.epoch)
            if self._announced.get(uid) != (announced := (written.about, since)):
                self._announced[uid] = announced
                self.explained(subject.plan, written)


def _since(record: Record) -> float:
    """Return when the run became Stuck, or else when its obstacle, its last epoch's end or its phase began."""
    if is_stuck(record) and (stuck := record.called_stuck) is not None:
        return stuck.since
    if record.blocked is not None:
        return record.blocked.since
    return record.cause.at if record.cause is not None else record.phase_at
