"""Outcomes by namespace: a counter whose namespaces are limited, because each series lives as long as the process.

The places go to the namespaces that are met first. An experiment of any other namespace is counted under ``OTHER``,
with its operator and its outcome, so the sum over all namespaces is always that of all experiments.
"""

from prometheus_client import Counter

from muster.metrics.catalogue import NAMESPACES, OTHER
from muster.metrics.exposition import LabelValues
from muster.state.vocabulary.record import FINISHED, Record


class NamespaceOutcomes:
    """``folded`` counts the ends that were counted under ``OTHER``."""

    def __init__(self, outcomes: Counter, folded: Counter) -> None:
        self._outcomes = outcomes
        self._folded = folded
        self._namespaces = LabelValues(NAMESPACES)
        self._begun: set[tuple[str, str]] = set()

    def transition(self, namespace: str, operator: str, old: Record | None, new: Record) -> None:
        """Count an experiment that has ended. Its series begin at 0 with its first record: an end is an increase."""
        place = self._namespaces.of(namespace)
        if (place, operator) not in self._begun:
            self._begun.add((place, operator))
            for phase in sorted(FINISHED):
                self._outcomes.labels(place, operator, phase)
        if new.finished and not (old and old.finished):
            self._outcomes.labels(place, operator, new.phase).inc()
            if place == OTHER:
                self._folded.inc()
