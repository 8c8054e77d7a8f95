"""A watched run as it is at one moment: its object and its pods are read once, and musterd's own rules applied."""

import json
from collections.abc import Iterable
from dataclasses import replace

from muster.kinds.declaration.watched_kind import Made, Object, WatchedKind, every
from muster.state.vocabulary.coordinator import ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.tracking.entry import Entry
from muster.tracking.watched_index import WatchedIndex, WatchedRuns
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.watched import object_decoder_of


def entry_of(kind: WatchedKind, obj: Object, pods: Iterable[Pod], made: Object | None = None) -> Entry | None:
    """Return the entry of one object; ``made`` is the object that its controller made. None if it cannot be read.

    A set of labelled pods has no object but its pods, so ``obj`` is ignored.
    """
    runs = WatchedRuns()
    index = WatchedIndex(runs, {kind.name: replace(kind, wanted=every)}, ours=lambda _kind, _obj: False)
    if kind.made is not None and made is not None and (record := record_of(kind.made, made)) is not None:
        index.object_changed(kind.made.subject.words, None, record)
    for pod in pods:
        index.pod_changed(None, pod)
    if not kind.virtual and (record := record_of(kind, obj)) is not None:
        index.object_changed(kind.name, None, record)
    return next(iter(runs.entries.values()), None)


def record_of(kind: WatchedKind | Made, obj: Object) -> ExperimentRecord | None:
    """Return the flat record of an object, as a list of the API server has it; None if it cannot be used."""
    body = json.dumps({"metadata": {"resourceVersion": "1"}, "items": [obj]}).encode("utf-8", "replace")
    return next(iter(object_decoder_of(kind).page(body).objects), None)


def unasked(plan: Plan) -> Plan:
    """Return the plan of a run whose coordinator is not asked: a member has arrived when its pod is ready."""
    if plan.coordinator is None:
        return plan
    return replace(plan, coordinator=replace(plan.coordinator, probe=ProbeKind.NONE))
