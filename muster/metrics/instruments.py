"""Metrics of events: counters and histograms, on a registry of their own.

The methods are named after what happened, so that callers know nothing of metric names or labels. What can be read from
the state instead of being counted is not here but in ``muster.metrics.collector`` and ``muster.metrics.own_state``.
"""

import collections
import platform
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from time import time

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
)

from muster.metrics import catalogue
from muster.metrics.catalogue import INVALID, NAMESPACES, OTHER
from muster.metrics.exposition import Bounded, LabelValues, label
from muster.metrics.rows import daemon, fleet
from muster.metrics.rows.row import Metric
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import FINISHED, Record, attempts_of

Traced = Callable[[Plan, Record | None, Record], str | None]
"""Takes in that a record was persisted in the place of another one; the id of the trace, if there is one.

Durations are counted with it as an exemplar, for scrapers that ask for OpenMetrics.
"""


class Instruments:
    """All instruments; ``registry`` is where collectors are registered beside them and what a scrape reads."""

    def __init__(
        self,
        version: str,
        tracked_pods: Callable[[], float],
        queue_depth: Callable[[], float],
        traced: Traced | None = None,
        changed: Callable[[Plan, Record | None, Record], None] = lambda _plan, _old, _new: None,
        clock: Callable[[], float] = time,
    ) -> None:
        """``traced`` is called with each transition, to make spans of it, and ``changed`` to count its time.

        ``clock`` gives wall seconds.
        """
        self._traced, self._changed = traced, changed
        self.registry = CollectorRegistry()
        self._folded = self._counter(daemon.LABEL_SETS_FOLDED)
        self._phases = self._bounded_histogram(fleet.PHASE_DURATION, catalogue.PHASES)
        operators = catalogue.EACH_OPERATOR
        self._assembled = self._bounded_histogram(fleet.TIME_TO_ASSEMBLED, operators)
        self._downtime = self._bounded_histogram(fleet.RESTART_DOWNTIME, operators)
        self._restarts = self._bounded_counter(fleet.GANG_RESTARTS, catalogue.RESTARTS)
        self._disruptions = self._bounded_counter(fleet.DISRUPTIONS, catalogue.DISRUPTIONS)
        self._member_restarts = self._bounded_counter(fleet.MEMBER_RESTARTS, catalogue.RESTARTS)
        self._container_restarts = self._bounded_counter(fleet.CONTAINER_RESTARTS, catalogue.CONTAINER_RESTARTS)
        self._verdicts = self._bounded_counter(fleet.RESTART_VERDICTS, catalogue.VERDICTS)
        self._outcomes = self._bounded_counter(fleet.OUTCOMES, catalogue.OUTCOMES)
        self._by_namespace = self._counter(fleet.NAMESPACE_OUTCOMES)
        self._namespaces = LabelValues(NAMESPACES)
        self._other_namespaces = self._folded.labels(fleet.NAMESPACE_OUTCOMES.name)
        self._requests = self._bounded_histogram(daemon.API_REQUEST_DURATION)
        self._retries = self._bounded_counter(daemon.API_RETRIES, catalogue.RETRIED)
        self._probes = self._bounded_counter(daemon.PROBE_REQUESTS, catalogue.PROBES)
        self._probe_durations = self._bounded_histogram(daemon.PROBE_DURATION)
        self._steps = self._counter(daemon.CLOCK_STEPS)
        self.refused = self._counting(fleet.REFUSALS, catalogue.REFUSALS)
        """Counts a refusal by the API server of what an experiment needs, by its reason."""
        self.failed = self._counting(daemon.INTERNAL_ERRORS, catalogue.ERRORS)
        """Counts an unexpected exception at the boundary of an experiment, by the place."""
        self.posted = self._counting(daemon.PROGRESS_POSTS, catalogue.POSTS)
        """Counts an answer of the progress endpoint to a post, by its outcome."""
        self.decision = self._observing(daemon.DECISION_DURATION)
        """Observes how long a decision took."""
        self.queued = self._observing(daemon.QUEUE_WAIT)
        """Observes how long an experiment waited for its decision."""
        self.lagged = self._observing(daemon.LOOP_LAG)
        """Observes how much too late the event loop woke a timer."""
        self._reading(daemon.CLOCK, clock)
        self._reading(daemon.TRACKED_PODS, tracked_pods)
        self._reading(daemon.QUEUE_DEPTH, queue_depth)
        build = Info(daemon.BUILD.family, daemon.BUILD.help, registry=self.registry)
        build.info({"version": label(version), "python": platform.python_version()})
        for of_the_process in (ProcessCollector, PlatformCollector, GCCollector):
            of_the_process(registry=self.registry)

    def transition(self, plan: Plan | None, old: Record | None, new: Record, namespace: str = "") -> None:
        """Count a record that replaced ``old`` (None: there was none). Call once per successful write.

        The times of both are of one clock. Without a plan the experiment has ended as InvalidSpec, in ``namespace``.
        """
        trace = self._traced(plan, old, new) if self._traced and plan is not None else None
        example = {"trace_id": trace} if trace else None
        if plan is not None:
            self._changed(plan, old, new)
        operator = plan.operator if plan else INVALID
        place = self._namespaces.of(plan.namespace if plan else namespace)
        # They begin at 0 with the first record, so that the first end is an increase.
        ends = {phase: self._by_namespace.labels(place, operator, phase) for phase in sorted(FINISHED)}
        if new.finished and not (old and old.finished):
            self._outcomes.at(operator, new.phase, new.reason).inc()
            ends[new.phase].inc()
            if place == OTHER:  # so the sum over all namespaces is always that of all experiments
                self._other_namespaces.inc()
        if old is None:
            return
        if old.phase is not new.phase and not old.finished:
            self._phases.at(operator, old.phase).observe(_seconds(new.phase_at - old.phase_at), example)
        if new.assembled_at is not None and (old.assembled_at is None or old.epoch != new.epoch):
            if new.epoch_at is not None:
                self._assembled.at(operator).observe(_seconds(new.assembled_at - new.epoch_at), example)
            if old.broken_at is not None:
                self._downtime.at(operator).observe(_seconds(new.assembled_at - old.broken_at), example)
        reason = new.cause.reason if new.cause else "Unknown"
        disruptions = max(0, new.disruptions - old.disruptions)
        # Some rules charge a gang restart to no account, some to two. An eviction by a queue is a disruption only.
        restarts = max(0, new.gang_restarts - old.gang_restarts) or disruptions
        if restarts and new.epoch != old.epoch:  # members that run again within an epoch are no restart of the gang
            self._restarts.at(operator, reason).inc(restarts)
        if disruptions:
            self._disruptions.at(operator, reason).inc(disruptions)
        if new.same_failure is not None and new.same_failure.again and new.same_failure != old.same_failure:
            enforced = new.finished and new.reason == catalogue.AGAIN
            self._verdicts.at(catalogue.AGAIN, "true" if enforced else "false").inc()
        if new.renewed > old.renewed:
            self._verdicts.at(catalogue.RENEWED, "true").inc()
        if new.epoch == old.epoch and new.attempts != old.attempts:
            for why, members in member_restarts(old, new).items():
                self._member_restarts.at(operator, why).inc(members)

        if new.in_place is not None:
            again = new.in_place.count - (old.in_place.count if old.in_place is not None else 0)
            ended = new.in_place.cause.reason if new.in_place.cause is not None else ""
            why = ended if ended in catalogue.ENDS else catalogue.OTHER_END
            self._container_restarts.at(operator, why).inc(max(0, again))

    def request(self, verb: str, resource: str, outcome: str, seconds: float) -> None:
        """Count a request to the API server that was answered or given up."""
        self._requests.at(verb, resource, outcome).observe(_seconds(seconds))

    def retried(self, verb: str, resource: str) -> None:
        """Count a request that is sent again because the API server asked to wait."""
        self._retries.at(verb, resource).inc()

    def clock_stepped(self) -> None:
        """Count a step of the wall clock."""
        self._steps.inc()

    def probed(self, kind: str, state: str, seconds: float) -> None:
        """Count a probe of a coordinator."""
        self._probes.at(kind, state).inc()
        self._probe_durations.at(kind).observe(_seconds(seconds))

    def _counter(self, row: Metric) -> Counter:
        return Counter(row.family, row.help, row.labels, registry=self.registry)

    def _histogram(self, row: Metric) -> Histogram:
        return Histogram(row.family, row.help, row.labels, buckets=row.buckets, registry=self.registry, unit=row.unit)

    def _bounded_counter(self, row: Metric, known: Iterable[tuple[str, ...]] = ()) -> Bounded[Counter]:
        return Bounded(row, self._counter(row), self._folded, known)

    def _bounded_histogram(self, row: Metric, known: Iterable[tuple[str, ...]] = ()) -> Bounded[Histogram]:
        return Bounded(row, self._histogram(row), self._folded, known)

    def _counting(self, row: Metric, known: Iterable[tuple[str, ...]]) -> Callable[[str], None]:
        counter = self._bounded_counter(row, known)
        return lambda value: counter.at(value).inc()

    def _observing(self, row: Metric) -> Callable[[float], None]:
        histogram = self._histogram(row)
        return lambda seconds: histogram.observe(_seconds(seconds))

    def _reading(self, row: Metric, read: Callable[[], float]) -> None:
        Gauge(row.family, row.help, registry=self.registry, unit=row.unit).set_function(read)


def _seconds(value: float) -> float:
    """Return a duration that cannot spoil a sum forever: 0 for NaN, and for a wall clock that was set back."""
    return value if isfinite(value) and value > 0 else 0.0


def member_restarts(old: Record, new: Record) -> Mapping[str, int]:
    """Return how many members were run again within their epoch, by the reason of their failure.

    Those whose reason was not counted belong to that of the first failure.
    """
    before = attempts_of(old.attempts)
    begun = sum(attempt > before.get(rank, 0) for rank, attempt in attempts_of(new.attempts).items())
    if not begun:
        return {}
    met = collections.Counter({each.reason: each.count for each in new.restart_reasons})
    found = met - collections.Counter({each.reason: each.count for each in old.restart_reasons})
    first = new.cause.reason if new.cause is not None else "Unknown"
    if not found:
        return {first: begun}
    main = first if first in found else next(iter(found))
    found[main] += begun - found.total()
    return +found
