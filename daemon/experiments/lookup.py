"""What the page, the metrics and the probes ask the index for."""

from collections.abc import Iterator

from muster.api.names import KIND
from muster.daemon.experiments.index import ExperimentIndex
from muster.metrics.collector import Invalid, Subject
from muster.state.foreign.kinds import SUBJECTS
from muster.state.observed.kinds import OBSERVED


def subjects(index: ExperimentIndex) -> Iterator[Subject]:
    """Every experiment that has a plan and a record. The caller may let the loop go on between two of them."""
    for entry in list(index):
        if entry.plan is not None and entry.record is not None:
            yield Subject(entry.plan, entry.record, entry.view)


def invalid(index: ExperimentIndex) -> Iterator[Invalid]:
    """Every experiment that has ended because its spec cannot be planned."""
    for entry in index:
        if entry.plan is None and entry.record is not None and not entry.unreadable:
            yield Invalid(entry.seen.namespace, entry.title, entry.record)


def find(index: ExperimentIndex, namespace: str, name: str) -> Subject | None:
    """The experiment of that name, or the object of another kind (``jobset/train``); None where there is none."""
    kind, _, own = name.rpartition("/")
    known = {each.lower(): each for each in (*SUBJECTS, *(each.subject.kind for each in OBSERVED.values()))}
    entry = index.named(namespace, own, known.get(kind, kind) or KIND)
    if entry is None or entry.plan is None or entry.record is None:
        return None
    return Subject(entry.plan, entry.record, entry.view)
