"""The daemon between the wire and its decisions, with one healthy experiment (the neighbour) that must not be affected.

Real are: decoders, stores, index, decisions, status, rendering, metrics, roll-call page. Left out are sockets and
tasks. ``Harm`` has what went wrong; any other exception is a violation as well.
"""

import copy
import json
from collections.abc import Iterable
from typing import Any

import msgspec

from muster.daemon.experiments.index import ExperimentIndex
from muster.kube.listwatch.decoder import Event, EventType, ObjectList
from muster.kube.listwatch.store import Store
from muster.metrics.collector import ExperimentCollector, Subject
from muster.metrics.exposition import look, write
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.render.objects import render_event, render_service, to_json
from muster.reconcilers.render.pod import PodTemplate
from muster.rollcall.make import detail
from muster.state.decide.machine import Decision, decide
from muster.state.summary.history import refuse
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.vocabulary.actions import CreatePods, ProbeTarget
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Record, StoryLine, from_status, to_status
from muster.tracking.entry import Entry
from muster.watchers import experiments, metadata
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.metadata import ServiceRecord
from muster.watchers.pods import decode as pods
from muster.watchers.probes.bounded.connection import Address
from tests.fuzz.samples import SPECS, experiment, member, service

NOW = 1_800_000_000.0
NEIGHBOUR = "uid-neighbour"
LARGEST_STATUS = 100_000
"""Bytes. The API server accepts 1.5 MB; a status that contains texts of others must stay far below."""
LONGEST_MESSAGE = 1_024
LONGEST_ERROR = 4_096

DECODERS: dict[str, Any] = {
    "experiment": experiments.DECODER, "pod": pods.DECODER, "service": metadata.DECODER,
}  # fmt: skip


class Harm(AssertionError):
    """A hostile object did harm."""


def require(condition: bool, what: str) -> None:
    """Raise ``Harm`` unless the condition holds."""
    if not condition:
        raise Harm(what)


def line_of(kind: str, tree: dict[str, Any]) -> bytes:
    """A watch line as the API server writes it."""
    return b'{"type":"' + kind.encode() + b'","object":' + json.dumps(tree).encode() + b"}"


class World:
    """The memory of one daemon: the neighbour, and everything that is sent to it."""

    def __init__(self) -> None:
        self.wanted: set[str] = set()
        self.gone: set[str] = set()
        self.index = ExperimentIndex(wanted=self.wanted.add, gone=self.gone.add)
        self.stores: dict[str, Store[Any]] = {
            "experiment": Store[ExperimentRecord](self.index.experiment_changed),
            "pod": Store[Pod](self.index.pod_changed),
            "service": Store[ServiceRecord](self.index.service_changed),
        }
        self.version = 1_000
        self.thorough = True
        """Check every output from every side; otherwise only the outputs of each decision."""
        self.trees: dict[str, list[dict[str, Any]]] = {"experiment": [], "pod": [], "service": []}
        self._add_neighbour()
        self._expected = self._facts_of_neighbour()
        self._view = copy.deepcopy(self.entry.view)

    @property
    def entry(self) -> Entry:
        """The neighbour's entry."""
        return self.index.entries[NEIGHBOUR]

    def next_version(self) -> int:
        """A new resourceVersion."""
        self.version += 1
        return self.version

    # Input

    def take(self, kind: str, line: bytes) -> Event[Any]:
        """Apply one line of a watch, as a reflector does."""
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

    def decode(self, kind: str, body: bytes) -> ObjectList[Any]:
        """Decode a page of a list without applying it. Raises ``ApiError`` for a malformed one."""
        page: ObjectList[Any] = DECODERS[kind].page(body)
        for problem in page.problems:
            check_words(problem, LONGEST_MESSAGE)
        return page

    def relist(self, kind: str, body: bytes) -> None:
        """Apply a page that is a whole list. Raises ``ApiError`` for a malformed one."""
        page = self.decode(kind, body)
        self.stores[kind].replace(page.objects, page.version)

    # Output

    def victims(self) -> list[Entry]:
        """The entries of all experiments except the neighbour."""
        return [entry for entry in self.index if entry.seen.uid != NEIGHBOUR]

    def live(self, entry: Entry) -> None:
        """Take two steps with an experiment, as the daemon would, and check every output."""
        now = NOW
        require(entry.plan is None or not entry.unreadable, "a decision on a status that cannot be read")
        for _ in range(2):
            if entry.plan is None:
                self._refuse(entry, now)
                return
            decision = decide(entry.plan, entry.record, entry.view, now)
            check_decision(entry, entry.plan, decision, now)
            if decision.write:
                wire = check_status(decision.record)
                if self.thorough:
                    check_restart(entry, entry.plan, decision, wire, now)
            entry.record = decision.record
            entry.view.engine.confirmed, entry.view.engine.service = decision.record.epoch, True
            now += 400.0

    def _refuse(self, entry: Entry, now: float) -> None:
        check_words(entry.problem, 100_000)
        if entry.unreadable or entry.record is not None:
            return
        record = refuse(entry.seen.generation, entry.problem, now)
        check_status(record)
        check_events(ExperimentRef(entry.seen.namespace, entry.seen.name, entry.seen.uid), record.story)

    def show(self) -> None:
        """Check a scrape and the roll-call page with all experiments in them."""
        subjects = [
            Subject(entry.plan, entry.record, entry.view) for entry in self.index if entry.plan and entry.record
        ]
        text, _ = write(look(ExperimentCollector(lambda: subjects, lambda: NOW)), "")
        require(b'experiment="neighbour"' in text, "the neighbour's series are missing in the scrape")
        require(len(text) < 200_000, f"a scrape of {len(text)} bytes")
        for subject in subjects:
            document = detail(subject.at(NOW))
            require(len(msgspec.json.encode(document)) < 2_000_000, "an unbounded roll-call document")

    def check_neighbour(self) -> None:
        """Check that the neighbour has not changed. Raises ``Harm``."""
        require(NEIGHBOUR in self.index.entries, "the neighbour is gone")
        require(self.entry.view == self._view, "the neighbour's view has changed")
        portrait = self._facts_of_neighbour() if self.thorough else self._facts()
        if changed := [name for name in portrait if portrait[name] != self._expected[name]]:
            raise Harm(f"the neighbour's {', '.join(changed)} changed")

    def clear(self) -> None:
        """Delete all experiments except the neighbour, and check that nothing is left of them. Raises ``Harm``."""
        for kind, store in self.stores.items():
            kept = {tree["metadata"]["uid"] for tree in self.trees[kind]}
            for obj in [obj for obj in store if obj.uid not in kept]:
                store.drop(obj.uid, obj, store.version)
        require(self.entry.view == self._view, "the neighbour's view has changed when a victim was deleted")
        require(list(self.index.entries) == [NEIGHBOUR], "entries of victims are left")
        require([uid for _, uid in self.index.members] == [NEIGHBOUR], "views of victims are left")
        require(self.index.pods == len(self.trees["pod"]), "the index counts the wrong number of pods")
        self.wanted.clear()
        self.gone.clear()

    def _facts_of_neighbour(self) -> dict[str, Any]:
        entry = self.entry
        assert entry.plan is not None
        return self._facts() | {"decision": decide(entry.plan, entry.record, entry.view, NOW + 50)}

    def _facts(self) -> dict[str, Any]:
        """Everything that a decision is made from, except the view."""
        entry = self.entry
        return {
            "plan": entry.plan,
            "problem": (entry.problem, entry.unreadable),
            "record": entry.record,
            "version": entry.freshness.version,
            "object": entry.seen,
        }

    def _add_neighbour(self) -> None:
        """Add the neighbour: four running JAX ranks, all arrived."""
        spec = SPECS[0]
        self._settle("experiment", experiment(NEIGHBOUR, "neighbour", spec, self.next_version()))
        for rank in range(4):
            self._settle("pod", member(NEIGHBOUR, rank, self.next_version(), epoch=0))
        self._settle("service", service(NEIGHBOUR, self.next_version()))
        entry = self.entry
        assert entry.plan is not None
        ranks = (RankState.CONNECTED,) * 4
        entry.view.engine.confirmed = 0
        entry.view.observe_probe(RollAnswer(at=NOW, coordinator=CoordinatorState.SERVING, expected=4, states=ranks), 0)
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


# Checks of outputs


def check_words(text: str, longest: int) -> None:
    """Text for people is short and printable (except line breaks)."""
    require(len(text) <= longest, f"{len(text)} characters of text: {text[:80]!r}")
    require(all(line.isprintable() for line in text.split("\n")), f"unprintable text: {text[:200]!r}")


def check_status(record: Record) -> bytes:
    """The status of a record can be written and is small; returns its bytes."""
    status = to_status(record)
    body = to_json(status, "the status")
    require(len(body) <= LARGEST_STATUS, f"a status of {len(body)} bytes")
    for said in (status, *status["conditions"], *status["story"], status.get("cause", {})):
        require(len(said.get("message", "")) <= LONGEST_MESSAGE, "an unbounded message")
    return body


def check_restart(entry: Entry, plan: Plan, decision: Decision, persisted: bytes, now: float) -> None:
    """A persisted status reads back, and a daemon that starts now continues as this one would."""
    wire = json.loads(persisted)
    again = from_status(wire)
    require(again is not None and to_status(again) == wire, "a status that does not read back")
    same = decide(plan, decision.record, entry.view, now)
    restarted = decide(plan, again, entry.view, now)
    require(restarted.actions == same.actions, "a restarted daemon would act differently")
    stories = [[line.reason for line in each.story] for each in (same, restarted)]
    require(stories[0] == stories[1], f"a restarted daemon would write the Events {stories[1]} instead of {stories[0]}")


def check_events(ref: ExperimentRef, lines: Iterable[StoryLine]) -> None:
    """Each line of the story fits in a Kubernetes Event."""
    for line in lines:
        event = render_event(ref, line, "musterd-0")
        to_json(event, "an Event")
        require(len(event["message"].encode()) <= LONGEST_MESSAGE, "an Event with an unbounded message")


def check_decision(entry: Entry, plan: Plan, decision: Decision, now: float) -> None:
    """A decision never goes back to an earlier epoch, and its actions can be carried out."""
    record = decision.record
    require(entry.record is None or record.epoch >= entry.record.epoch, "the epoch has gone back")
    require(decision.wake_at is None or decision.wake_at > now, "it wakes in the past")
    check_events(ExperimentRef(plan.namespace, plan.name, plan.uid), decision.story)
    check_probe(decision.probe)
    for action in decision.actions:
        if isinstance(action, CreatePods):
            require(len(action.members) <= 256, "an unbounded number of creates in one action")
            to_json(render_service(plan), "the Service")
            for each in action.members[:2]:
                group = plan.group_of(each.rank)
                require(group is not None, f"no group for {each}")
                assert group is not None
                PodTemplate(plan, group, action.epoch).render(each)


def check_probe(target: ProbeTarget | None) -> None:
    """A probe has an address."""
    if target is not None:
        try:
            Address.parse(target.address)
        except ValueError as error:
            raise Harm(f"a probe without an address: {error}") from error
