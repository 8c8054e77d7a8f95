"""Reads an Experiment: the plan that its spec asks for, and the record in its status.

An object may hold anything that its schema allows, so what is wrong with it is a result and not an exception.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.api.errors import MusterError
from muster.api.manifest.experiment import parse_experiment
from muster.api.manifest.yaml_reader import MAX_BYTES
from muster.state.operators.planning import plan_of
from muster.state.plan import Plan
from muster.state.record import Record
from muster.state.status import from_status
from muster.watchers.experiments import ExperimentRecord


@dataclass(frozen=True, slots=True)
class Reading:
    """The plan and the record of an Experiment. Without a plan, ``problem`` says why, in words for its author."""

    plan: Plan | None
    record: Record | None
    problem: str = ""
    unreadable: bool = False
    """The status, rather than the spec, is the problem: nothing may be decided."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """Of a foreign object: its own status, without the record."""


def read(seen: ExperimentRecord, known: Plan | None = None) -> Reading:
    """Read an Experiment. Never raises: what is wrong with one object stays with it.

    ``known`` is its plan so far, which holds until the API server counts another generation of the spec: most events
    of an Experiment bring a status that we have written ourselves.
    """
    try:
        status = json.loads(seen.status)
        record = from_status(status) if status is not None else None
    except (ValueError, RecursionError) as error:
        return Reading(None, None, f"the status is not readable: {error}", unreadable=True)
    except MusterError as error:
        return Reading(None, None, str(error), unreadable=True)
    if known is not None and (known.generation, known.deleting) == (seen.generation, seen.deleting):
        return Reading(known, record)
    if len(seen.spec) > MAX_BYTES:
        size = f"the spec is {len(seen.spec)} bytes of JSON, and at most {MAX_BYTES} are read"
        return Reading(None, record, f"spec: {size}; put data into a ConfigMap or the image")
    try:
        document = _document(seen)
    except (ValueError, RecursionError) as error:
        return Reading(None, record, f"spec: not readable: {error}")
    try:
        return Reading(plan_of(parse_experiment(document)), record)
    except MusterError as error:
        return Reading(None, record, str(error))


def _document(seen: ExperimentRecord) -> dict[str, Any]:
    metadata = {"uid": seen.uid, "name": seen.name, "namespace": seen.namespace, "generation": seen.generation}
    metadata |= {"resourceVersion": str(seen.resource_version)}
    if seen.deleting:
        metadata["deletionTimestamp"] = "set"  # the plan says only whether there is one
        metadata["finalizers"] = list(seen.finalizers)
    return {"metadata": metadata, "spec": json.loads(seen.spec)}
