"""What is counted as it happens: counters and histograms, on a registry of their own.

The methods are named after what happened, so that callers know nothing of metric names or labels. What can be read from
the state instead of being counted is not here but in ``muster.metrics.collector`` and ``muster.metrics.watch``.
"""

import platform
from collections.abc import Callable
from math import isfinite

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

from muster.metrics import catalogue
from muster.metrics.catalogue import INVALID
from muster.metrics.exposition import Bounded, label
from muster.metrics.row import Metric
from muster.state.plan import Plan
from muster.state.record import Record


class Instruments:
    """All instruments; ``registry`` is where collectors are registered beside them and what a scrape reads."""

    def __init__(self, version: str, tracked_pods: Callable[[], float], queue_depth: Callable[[], float]) -> None:
        self.registry = CollectorRegistry()
        self._folded = self._counter(catalogue.LABEL_SETS_FOLDED)
        self._phases = self._bounded_histogram(catalogue.PHASE_DURATION)
        self._restarts = self._bounded_counter(catalogue.GANG_RESTARTS)
        self._disruptions = self._bounded_counter(catalogue.DISRUPTIONS)
        self._outcomes = self._bounded_counter(catalogue.OUTCOMES)
        self._refusals = self._bounded_counter(catalogue.REFUSALS)
        self._requests = self._bounded_histogram(catalogue.API_REQUEST_DURATION)
        self._retries = self._bounded_counter(catalogue.API_RETRIES)
        self._probes = self._bounded_counter(catalogue.PROBE_REQUESTS)
        self._probe_durations = self._bounded_histogram(catalogue.PROBE_DURATION)
        self._decisions = self._histogram(catalogue.DECISION_DURATION)
        self._waits = self._histogram(catalogue.QUEUE_WAIT)
        self._lag = self._histogram(catalogue.LOOP_LAG)
        self._steps = self._counter(catalogue.CLOCK_STEPS)
        self._failures = self._bounded_counter(catalogue.INTERNAL_ERRORS)
        self._reading(catalogue.TRACKED_PODS, tracked_pods)
        self._reading(catalogue.QUEUE_DEPTH, queue_depth)
        build = Info(catalogue.BUILD.family, catalogue.BUILD.help, registry=self.registry)
        build.info({"version": label(version), "python": platform.python_version()})

    def transition(self, plan: Plan | None, old: Record | None, new: Record) -> None:
        """A record was persisted in the place of ``old`` (None: there was none). Call once per successful write.

        Without a plan the experiment has ended as InvalidSpec.
        """
        operator = plan.operator if plan else INVALID
        if new.finished and not (old and old.finished):
            self._outcomes.at(operator, new.phase, new.reason).inc()
        if old is None:
            return
        if old.phase is not new.phase and not old.finished:
            self._phases.at(operator, old.phase).observe(_seconds(new.phase_at - old.phase_at))
        reason = new.cause.reason if new.cause else "Unknown"
        disruptions = max(0, new.disruptions - old.disruptions)
        restarts = max(0, new.restarts - old.restarts) + disruptions
        if restarts:
            self._restarts.at(operator, reason).inc(restarts)
        if disruptions:
            self._disruptions.at(operator, reason).inc(disruptions)

    def refused(self, reason: str) -> None:
        """The API server refused what an experiment needs."""
        self._refusals.at(reason).inc()

    def request(self, verb: str, resource: str, outcome: str, seconds: float) -> None:
        """A request to the API server was answered or given up."""
        self._requests.at(verb, resource, outcome).observe(_seconds(seconds))

    def retried(self, verb: str, resource: str) -> None:
        """A request is sent again because the API server asked to wait."""
        self._retries.at(verb, resource).inc()

    def failed(self, place: str) -> None:
        """An unexpected exception was caught at the border of an experiment."""
        self._failures.at(place).inc()

    def decision(self, seconds: float) -> None:
        """A decision took that long."""
        self._decisions.observe(_seconds(seconds))

    def queued(self, seconds: float) -> None:
        """An experiment waited that long for its decision."""
        self._waits.observe(_seconds(seconds))

    def lagged(self, seconds: float) -> None:
        """The event loop woke a timer that much too late."""
        self._lag.observe(_seconds(seconds))

    def clock_stepped(self) -> None:
        """The wall clock was set."""
        self._steps.inc()

    def probed(self, kind: str, state: str, seconds: float) -> None:
        """A coordinator was probed."""
        self._probes.at(kind, state).inc()
        self._probe_durations.at(kind).observe(_seconds(seconds))

    def _counter(self, row: Metric) -> Counter:
        return Counter(row.family, row.help, row.labels, registry=self.registry)

    def _histogram(self, row: Metric) -> Histogram:
        return Histogram(row.family, row.help, row.labels, buckets=row.buckets, registry=self.registry, unit=row.unit)

    def _bounded_counter(self, row: Metric) -> Bounded[Counter]:
        return Bounded(row, self._counter(row), self._folded)

    def _bounded_histogram(self, row: Metric) -> Bounded[Histogram]:
        return Bounded(row, self._histogram(row), self._folded)

    def _reading(self, row: Metric, read: Callable[[], float]) -> None:
        Gauge(row.family, row.help, registry=self.registry).set_function(read)


def _seconds(value: float) -> float:
    """A duration that cannot spoil a sum for ever: a wall clock that was set back makes 0 of it, and so does NaN."""
    return value if isfinite(value) and value > 0 else 0.0
