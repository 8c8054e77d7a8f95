"""From an Experiment's bytes to its plan and its record, each of which may be impossible."""

import json
from dataclasses import dataclass

from muster.api.errors import MusterError
from muster.api.experiment import parse_experiment
from state.operators.planning import plan_of
from state.plan import Plan
from state.record import Record
from state.status import from_status
from watchers.experiments import ExperimentRecord


@dataclass(frozen=True, slots=True)
class Reading:
    """What an Experiment says. Without a plan, ``problem`` says why, in words for its author."""

    plan: Plan | None
    record: Record | None
    problem: str = ""
    unreadable: bool = False
    """The status, rather than the spec, is the problem: nothing may be decided."""


def read(seen: ExperimentRecord, known: Plan | None = None) -> Reading:
    """Read an Experiment. Never raises: what is wrong with one object stays with it.

    ``known`` is its plan so far, which holds until the API server counts another generation of the spec: most events
    of an Experiment bring a status that we have written ourselves.
    """
    try:
        document = json.loads(seen.raw)
    except (ValueError, RecursionError) as error:
        return Reading(None, None, f"the object is not readable: {error}", unreadable=True)
    status = document.get("status")
    try:
        record = from_status(status) if status is not None else None
    except MusterError as error:
        return Reading(None, None, str(error), unreadable=True)
    if known is not None and (known.generation, known.deleting) == (seen.generation, seen.deleting):
        return Reading(known, record)
    try:
        return Reading(plan_of(parse_experiment(document)), record)
    except MusterError as error:
        return Reading(None, record, str(error))
