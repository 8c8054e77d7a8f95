"""Reads an object: the plan that its spec asks for, and its record.

The record of an Experiment is its status. That of a JobSet or a JAXJob is in a condition. An object may hold anything
that its schema allows, so what is wrong with it is a result and not an exception.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from muster.api.errors import MusterError
from muster.api.manifest.experiment import parse_experiment
from muster.api.manifest.yaml.reader import MAX_BYTES
from muster.api.names import ANNOTATION_CANCELLED, ANNOTATION_RESTART, PRIORITY_LABEL, QUEUE_LABEL
from muster.kinds.declaration import plan_as_begun
from muster.kinds.experiments import plan_of
from muster.kinds.planning.run_object import from_object, without_record
from muster.kinds.registry import RUN_KINDS
from muster.reconcilers.render.workload import workload_name
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record, from_status
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.run_kinds import object_of


@dataclass(frozen=True, slots=True)
class Reading:
    """The plan and the record of an Experiment. Without a plan, ``problem`` has the reason, in words for its author."""

    plan: Plan | None
    record: Record | None
    problem: str = ""
    unreadable: bool = False
    """True if the status, rather than the spec, is the problem: nothing may be decided."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """The own status of an object of another kind, without the record."""


def read(seen: ExperimentRecord, known: Plan | None = None) -> Reading:
    """Read an Experiment, or an object of another kind. What is wrong with one object stays with it.

    ``known`` is its plan so far, which holds until the API server counts another generation of the spec: most events
    of an object bring a status that we have written ourselves.
    """
    kind, own = RUN_KINDS.get(seen.kind), dict[str, Any]()
    try:
        status = json.loads(seen.status)
        if kind is not None:
            record, own = from_object(status), without_record(status)
        else:
            record = from_status(status) if status is not None else None
    except (ValueError, RecursionError) as error:
        return Reading(None, None, f"the status is not readable: {error}", unreadable=True)
    except MusterError as error:
        return Reading(None, None, str(error), unreadable=True)
    if known is not None and _holds(known, seen):
        return Reading(known, record, own=own)
    if len(seen.spec) > MAX_BYTES:
        size = f"{len(seen.spec)} bytes of JSON, and at most {MAX_BYTES} are read"
        advice = f"the spec is {size}; put data into a ConfigMap or the image" if kind is None else f"it is {size}"
        return Reading(None, record, f"spec: {advice}", own=own)
    try:
        document = _document(seen) if kind is None else object_of(seen, kind)
    except (ValueError, RecursionError) as error:
        return Reading(None, record, f"spec: not readable: {error}", own=own)
    try:
        if kind is not None:
            return Reading(plan_as_begun(kind, document, known, record), record, own=own)
        return Reading(_with_workload(plan_of(parse_experiment(document))), record)
    except MusterError as error:
        return Reading(None, record, str(error), own=own)
    except (ValueError, RecursionError) as error:
        if kind is None:  # a defect, which the error boundary reports
            raise
        return Reading(None, record, f"spec: not readable: {error}", own=own)


def _holds(known: Plan, seen: ExperimentRecord) -> bool:
    """Return True if the plan is that of the object as it is now."""
    life = known.lifecycle
    if known.edits.problem or (known.generation, life.deleting) != (seen.generation, seen.deleting):
        return False
    if seen.kind in RUN_KINDS:
        return True
    stated = seen.queue, seen.priority_class if seen.queue else "", seen.restart_request, seen.cancelled_by
    # Queue and priority class come from labels, whose change does not change the generation.
    queue = (known.queue.name, known.queue.priority_class) if known.queue else ("", "")
    return (*queue, life.restart_request, life.cancelled_by) == stated


def _with_workload(plan: Plan) -> Plan:
    """Return the plan with the name of its Workload, which holds a hash of the rendered pods."""
    if plan.queue is None:
        return plan
    return replace(plan, queue=replace(plan.queue, workload=workload_name(plan)))


def _document(seen: ExperimentRecord) -> dict[str, Any]:
    metadata = {"uid": seen.uid, "name": seen.name, "namespace": seen.namespace, "generation": seen.generation}
    metadata |= {"resourceVersion": str(seen.resource_version)}
    if seen.queue:
        metadata["labels"] = {QUEUE_LABEL: seen.queue, PRIORITY_LABEL: seen.priority_class}
    metadata["annotations"] = {ANNOTATION_RESTART: seen.restart_request, ANNOTATION_CANCELLED: seen.cancelled_by}
    if seen.deleting:
        metadata["deletionTimestamp"] = "set"  # the plan only needs to know that it is set
        metadata["finalizers"] = list(seen.finalizers)
    return {"metadata": metadata, "spec": json.loads(seen.spec)}
