"""Lookups in the index for the page, the metrics and the probes."""

from collections.abc import Iterator
from dataclasses import replace

from msgspec import structs

from muster.api.names import KIND
from muster.daemon.experiments.index import ExperimentIndex
from muster.kinds.registry import RUN_KINDS, WATCHED_KINDS
from muster.metrics.catalogue import INVALID
from muster.metrics.collector import Subject
from muster.state.summary.history import unreadable
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.subject import EXPERIMENT
from muster.tracking.entry import Entry


def subjects(index: ExperimentIndex) -> Iterator[Subject]:
    """Yield every experiment that has a record or an unreadable status. The loop may run between two of them."""
    for entry in [*index, *index.elsewhere.values()]:
        if (subject := _subject(entry)) is not None:
            yield subject


def find(index: ExperimentIndex, namespace: str, name: str) -> Subject | None:
    """Return the experiment of that name, or the object of another kind (``jobset/train``); None if there is none."""
    kind, _, own = name.rpartition("/")
    known = {each.lower(): each for each in (*RUN_KINDS, *(each.subject.word for each in WATCHED_KINDS.values()))}
    entry = index.named(namespace, own, known.get(kind, kind) or KIND)
    return None if entry is None else _subject(entry)


def _subject(entry: Entry) -> Subject | None:
    """Return the experiment, with a plan without members if its spec cannot be planned or its status cannot be read.

    An experiment of another manager has its members where that manager runs it, and here the status that it copied.
    """
    if entry.seen.managed_by and entry.record is not None:
        operator = entry.plan.operator if entry.plan is not None else INVALID
        message = f"managed by {entry.seen.managed_by}, whose status this is: {entry.record.message}"
        shown = replace(_without_members(entry), operator=operator)
        return Subject(shown, structs.replace(entry.record, message=message), entry.view)
    if entry.plan is not None:
        return None if entry.record is None else Subject(entry.plan, entry.record, entry.view)
    record = unreadable(entry.problem) if entry.unreadable else entry.record
    return None if record is None else Subject(_without_members(entry), record, entry.view)


def _without_members(entry: Entry) -> Plan:
    seen = entry.seen
    kind = RUN_KINDS.get(seen.kind)
    return Plan(
        uid=seen.uid,
        namespace=seen.namespace,
        name=seen.name,
        generation=seen.generation,
        operator=INVALID,
        groups=(),
        coordinator=None,
        subject=EXPERIMENT if kind is None else kind.subject,
    )
