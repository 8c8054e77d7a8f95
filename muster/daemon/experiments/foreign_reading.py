"""Reads a foreign object: its plan, the record in its condition, and its own status as it is persisted."""

import json
from typing import Any

from muster.api.errors import MusterError
from muster.api.manifest.yaml.reader import MAX_BYTES
from muster.daemon.experiments.reading import Reading
from muster.kinds.planning import held
from muster.kinds.planning.record_condition import from_object, without_record
from muster.kinds.registry.run_kinds import SUBJECTS
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.foreign import object_of


def read_foreign(seen: ExperimentRecord, known: Plan | None = None) -> Reading:
    """Read a foreign object. Never raises ``MusterError``: what is wrong with one object stays with it."""
    kind = SUBJECTS[seen.kind]
    try:
        status = json.loads(seen.status)
        record: Record | None = from_object(status)
    except (ValueError, RecursionError) as error:
        return Reading(None, None, f"the status is not readable: {error}", unreadable=True)
    except MusterError as error:
        return Reading(None, None, str(error), unreadable=True)
    own: dict[str, Any] = without_record(status)
    unchanged = known is not None and (known.generation, known.lifecycle.deleting) == (seen.generation, seen.deleting)
    if known is not None and unchanged and not known.edits.problem:
        return Reading(known, record, own=own)
    if len(seen.spec) > MAX_BYTES:
        problem = f"spec: it is {len(seen.spec)} bytes of JSON, and at most {MAX_BYTES} are read"
        return Reading(None, record, problem, own=own)
    try:
        return Reading(held.plan_of(kind, object_of(seen, kind), known, record), record, own=own)
    except MusterError as error:
        return Reading(None, record, str(error), own=own)
    except (ValueError, RecursionError) as error:
        return Reading(None, record, f"spec: not readable: {error}", own=own)
