"""The daemon between the wire and its decisions, with one healthy experiment in it that must notice nothing.

What is real: decoders, stores, roster, decisions, status, rendering, metrics, roll-call page. What is left out: sockets
and tasks. ``Poisoned`` says what went wrong; any other exception is a violation as well.
"""

import copy
import json
from collections.abc import Iterable
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from muster.daemon.experiments import Entry, ExperimentIndex
from muster.daemon.web.rollcall import detail
from muster.kube.listwatch.events import Event, EventType, Page
from muster.kube.listwatch.store import Store
from muster.metrics.collector import ExperimentCollector, Subject
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.render.encode import to_json
from muster.reconcilers.render.event import render_event
from muster.reconcilers.render.pod import PodTemplate
from muster.reconcilers.render.service import render_service
from muster.state.actions import CreatePods, ProbeTarget
from muster.state.invalid_spec import refuse
from muster.state.machine import Decision, decide
from muster.state.plan import Plan
from muster.state.pod import Pod
from muster.state.policies import deadline
from muster.state.record import Line, Record
from muster.state.roll import CoordinatorState, RankState, RollAnswer
from muster.state.status import from_status, to_status
from muster.watchers import experiments, services
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.pods import decode as pods
from muster.watchers.probes.jax.port_check import Address
from muster.watchers.services import ServiceRecord
from tests.fuzz.samples import SPECS, experiment, member, service

NOW = 1_800_000_000.0
NEIGHBOUR = "uid-neighbour"
LARGEST_STATUS = 100_000
"""Bytes. The API server takes 1.5 MB; a status that repeats what others said must stay far below."""
LONGEST_MESSAGE = 1_024
LONGEST_ERROR = 4_096

DECODERS: dict[str, Any] = {
    "experiment": experiments.DECODER, "pod": pods.DECODER, "service": services.DECODER,
}  # fmt: skip


class Poisoned(AssertionError):
    """An object did what no object may do."""


def demand(condition: bool, what: str) -> None:
    """Raise ``Poisoned`` unless the condition holds."""
    if not condition:
        raise Poisoned(what)


def line_of(kind: str, tree: dict[str, Any]) -> bytes:
    """A watch line as the API server writes it."""
    return b'{"type":"' + kind.encode() + b'","object":' + json.dumps(tree).encode() + b"}"


class World:
    """One daemon's memory: the neighbour, and whatever is thrown at it."""

    def __init__(self) -> None:
        self.wanted: set[str] = set()
        self.gone: set[str] = set()
        self.roster = ExperimentIndex(wanted=self.wanted.add, gone=self.gone.add)
        self.stores: dict[str, Store[Any]] = {
            "experiment": Store[ExperimentRecord](self.roster.experiment_changed),
            "pod": Store[Pod](self.roster.pod_changed),
            "service": Store[ServiceRecord](self.roster.service_changed),
        }
        self.version = 1_000
        self.thorough = True
        """Look at every output from every side; without, only at what each decision gives."""
        self.trees: dict[str, list[dict[str, Any]]] = {"experiment": [], "pod": [], "service": []}
        self._move_in()
        self._pristine = self._portrait()
        self._view = copy.deepcopy(self.entry.view)

    @property
    def entry(self) -> Entry:
        """The neighbour's."""
        return self.roster.entries[NEIGHBOUR]

    def next_version(self) -> int:
        """A resourceVersion that was never used."""
        self.version += 1
        return self.version

    # --- what comes in ---------------------------------------------------------------------------------------

    def take(self, kind: str, line: bytes) -> Event[Any]:
        """One line of a watch, as a reflector takes it."""
        event: Event[Any] = DECODERS[kind].event(line)
        check_words(event.problem, LONGEST_MESSAGE)
        if event.error is not None:
            check_words(str(event.error), LONGEST_ERROR)
        store = self.stores[kind]
        if event.problem or event.error is not None:
            return event
        if event.obj is None:
            store.reached(event.version)
        elif event.type is EventType.DELETED:
            store.drop(event.obj.uid, event.obj, event.version)
        else:
            store.put(event.obj, event.version)
        return event

    def decode(self, kind: str, body: bytes) -> Page[Any]:
        """A page of a list, decoded and not believed. Raises ``ApiError`` for one that is none."""
        page: Page[Any] = DECODERS[kind].page(body)
        for problem in page.problems:
            check_words(problem, LONGEST_MESSAGE)
        return page

    def relist(self, kind: str, body: bytes) -> None:
        """A page that is a whole list. Raises ``ApiError`` for one that is none."""
        page = self.decode(kind, body)
        self.stores[kind].replace(page.objects, page.version)

    # --- what comes of it ------------------------------------------------------------------------------------

    def strangers(self) -> list[Entry]:
        """Everybody but the neighbour."""
        return [entry for entry in self.roster if entry.seen.uid != NEIGHBOUR]

    def live(self, entry: Entry, steps: int = 2) -> None:
        """Some steps in the life of an experiment, as the daemon would take them, with every output checked."""
        now = NOW
        demand(entry.plan is None or not entry.unreadable, "decided upon, although its status cannot be read")
        for _ in range(steps):
            if entry.plan is None:
                self._refuse(entry, now)
                return
            decision = decide(entry.plan, entry.record, entry.view, now)
            check_decision(entry, entry.plan, decision, now)
            if decision.write:
                wire = check_status(decision.record)
                if self.thorough:
                    check_rebirth(entry, entry.plan, decision, wire, now)
            entry.record = decision.record
            entry.view.confirmed, entry.view.service = decision.record.epoch, True
            now += 400.0

    def _refuse(self, entry: Entry, now: float) -> None:
        check_words(entry.problem, 100_000)
        if entry.unreadable or entry.record is not None:
            return
        record = refuse(entry.seen.generation, entry.problem, now)
        check_status(record)
        check_events(ExperimentRef(entry.seen.namespace, entry.seen.name, entry.seen.uid), record.story)

    def show(self) -> None:
        """What a scrape and the roll-call page say with everybody in it."""
        subjects = [
            Subject(entry.plan, entry.record, entry.view) for entry in self.roster if entry.plan and entry.record
        ]
        registry = CollectorRegistry()
        registry.register(ExperimentCollector(lambda: subjects, lambda: NOW, deadline.ends))
        text = generate_latest(registry)
        demand(b'experiment="neighbour"' in text, "the neighbour's series are gone from the scrape")
        demand(len(text) < 200_000, f"a scrape of {len(text)} bytes")
        for subject in subjects:
            told = detail(subject, deadline.ends(subject.plan, subject.record), NOW)
            demand(len(msgspec.json.encode(told)) < 2_000_000, "a roll-call document without end")

    def unharmed(self) -> None:
        """The neighbour is as it was, in every way. Raises ``Poisoned``."""
        demand(NEIGHBOUR in self.roster.entries, "the neighbour is gone")
        demand(self.entry.view == self._view, "the neighbour's view has changed")
        portrait = self._portrait() if self.thorough else self._facts()
        if changed := [name for name in portrait if portrait[name] != self._pristine[name]]:
            raise Poisoned(f"the neighbour's {', '.join(changed)} changed")

    def clear(self) -> None:
        """All strangers go again, and nothing of them stays. Raises ``Poisoned``."""
        for kind, store in self.stores.items():
            kept = {tree["metadata"]["uid"] for tree in self.trees[kind]}
            for obj in [obj for obj in store if obj.uid not in kept]:
                store.drop(obj.uid, obj, store.version)
        demand(self.entry.view == self._view, "the neighbour's view has changed as a stranger left")
        demand(list(self.roster.entries) == [NEIGHBOUR], "entries of strangers stay behind")
        demand(list(self.roster.views) == [NEIGHBOUR], "views of strangers stay behind")
        demand(self.roster.pods == len(self.trees["pod"]), "the roster has lost count of the pods")
        self.wanted.clear()
        self.gone.clear()

    def _portrait(self) -> dict[str, Any]:
        entry = self.entry
        assert entry.plan is not None
        return self._facts() | {"decision": decide(entry.plan, entry.record, entry.view, NOW + 50)}

    def _facts(self) -> dict[str, Any]:
        """All that a decision is made from, apart from the view."""
        entry = self.entry
        return {
            "plan": entry.plan,
            "problem": (entry.problem, entry.unreadable),
            "record": entry.record,
            "version": entry.version,
            "object": entry.seen,
        }

    def _move_in(self) -> None:
        """The neighbour: four JAX ranks that run, all heard."""
        spec = SPECS[0]
        self._settle("experiment", experiment(NEIGHBOUR, "neighbour", spec, self.next_version()))
        for rank in range(4):
            self._settle("pod", member(NEIGHBOUR, rank, self.next_version(), epoch=0))
        self._settle("service", service(NEIGHBOUR, self.next_version()))
        entry = self.entry
        assert entry.plan is not None
        ranks = (RankState.CONNECTED,) * 4
        entry.view.confirmed = 0
        entry.view.observe_probe(RollAnswer(at=NOW, coordinator=CoordinatorState.SERVING, expected=4, ranks=ranks), 0)
        record = decide(entry.plan, None, entry.view, NOW).record
        persisted = experiment(NEIGHBOUR, "neighbour", spec, self.next_version(), to_status(record))
        self.trees["experiment"].clear()
        self._settle("experiment", persisted)
        assert entry.record == record
        assert not decide(entry.plan, record, entry.view, NOW + 50).write

    def _settle(self, kind: str, tree: dict[str, Any]) -> None:
        self.trees[kind].append(tree)
        event = self.take(kind, line_of("ADDED", tree))
        assert event.obj is not None, event.problem


# --- what every output must be -----------------------------------------------------------------------------------


def check_words(text: str, longest: int) -> None:
    """Text for people is short and fit to print (line breaks aside)."""
    demand(len(text) <= longest, f"{len(text)} characters of text: {text[:80]!r}")
    demand(all(line.isprintable() for line in text.split("\n")), f"unprintable text: {text[:200]!r}")


def check_status(record: Record) -> bytes:
    """The status of a record can be written and is small; its bytes."""
    status = to_status(record)
    body = to_json(status, "the status")
    demand(len(body) <= LARGEST_STATUS, f"a status of {len(body)} bytes")
    for said in (status, *status["conditions"], *status["story"], status.get("cause", {})):
        demand(len(said.get("message", "")) <= LONGEST_MESSAGE, "a message without end")
    return body


def check_rebirth(entry: Entry, plan: Plan, decision: Decision, persisted: bytes, now: float) -> None:
    """What is persisted reads back, and a daemon that is started now goes on as this one would."""
    wire = json.loads(persisted)
    again = from_status(wire)
    demand(again is not None and to_status(again) == wire, "a status that does not read back")
    same = decide(plan, decision.record, entry.view, now)
    reborn = decide(plan, again, entry.view, now)
    demand(reborn.actions == same.actions, "a restarted daemon would act differently")
    told = [[line.reason for line in each.story] for each in (same, reborn)]
    demand(told[0] == told[1], f"a restarted daemon would tell {told[1]} instead of {told[0]}")


def check_events(ref: ExperimentRef, lines: Iterable[Line]) -> None:
    """Each line of the story can be told, in Kubernetes' measure."""
    for line in lines:
        event = render_event(ref, line, "musterd-0")
        to_json(event, "an Event")
        demand(len(event["message"].encode()) <= LONGEST_MESSAGE, "an Event with a message without end")


def check_decision(entry: Entry, plan: Plan, decision: Decision, now: float) -> None:
    """A decision never goes back, and what it asks for can be done."""
    record = decision.record
    demand(entry.record is None or record.epoch >= entry.record.epoch, "the epoch has gone back")
    demand(decision.wake_at is None or decision.wake_at > now, "it wakes in the past")
    check_events(ExperimentRef(plan.namespace, plan.name, plan.uid), decision.story)
    check_probe(decision.probe)
    for action in decision.actions:
        if isinstance(action, CreatePods):
            demand(len(action.members) <= 256, "a wave without end")
            to_json(render_service(plan), "the Service")
            for each in action.members[:2]:
                group = plan.group_of(each.rank)
                demand(group is not None, f"no group for {each}")
                assert group is not None
                PodTemplate(plan, group, action.epoch).render(each)


def check_probe(target: ProbeTarget | None) -> None:
    """What is probed is an address."""
    if target is not None:
        try:
            Address.parse(target.address)
        except ValueError as error:
            raise Poisoned(f"a probe of no address: {error}") from error
