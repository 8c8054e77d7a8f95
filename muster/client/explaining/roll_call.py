"""The roll call of an experiment from what its user may read: the object, its status and its pods.

It is the document of musterd's page, without what only the daemon has asked: the coordinator's last answer is that of
the status, and a refusal of the API server is the reason of the condition Stuck.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import asdict

from muster.api.errors import MusterError
from muster.api.manifest.experiment import parse_experiment
from muster.client.snapshot import Snapshot
from muster.kinds.experiments import plan_of
from muster.kinds.registry import RUN_KINDS
from muster.kube.unstructured import Json
from muster.rollcall.document import Detail
from muster.rollcall.make import detail
from muster.state.facts.context import Context
from muster.state.view.engine_facts import Refusal
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import ConditionType, Phase, Record
from muster.state.vocabulary.refusals import refusal_reason
from muster.watchers.pods.decode import flatten
from muster.watchers.pods.document import PodDocument


def roll_call(seen: Snapshot, pods: Sequence[Json] | None, now: float) -> Detail | None:
    """Return the document; None if the object or its status cannot be read, or the pods may not be (None)."""
    watched = seen.watched
    plan = _plan(seen) if watched is None else watched.plan
    record = _record(seen) if watched is None else watched.record
    if plan is None or record is None or pods is None:
        return None
    view = _view(pods, plan, record, now) if watched is None else watched.view
    return detail(Context.at(plan, record, view, now))


def _view(pods: Sequence[Json], plan: Plan, record: Record, now: float) -> View:
    view = View()
    for obj in pods:
        try:
            pod = flatten(msgspec.json.decode(msgspec.json.encode(obj), type=PodDocument))
        except (msgspec.ValidationError, ValueError):
            continue
        if plan.member(pod.rank) is not None:
            view.change(None, pod)
    view.remember(plan, record, now)
    view.engine.refusal = _refusal(record)
    return view


def _plan(seen: Snapshot) -> Plan | None:
    try:
        if (kind := RUN_KINDS.get(seen.subject.kind)) is not None:
            return kind.plan_of(seen.raw)
        return plan_of(parse_experiment(seen.raw)) if isinstance(seen.raw, Mapping) else None
    except MusterError:
        return None


def _record(seen: Snapshot) -> Record | None:
    status = seen.status
    if not isinstance(status.phase, Phase):
        return None
    ours = tuple(each for each in status.conditions if isinstance(each.type, ConditionType))
    return Record(**asdict(status) | {"conditions": ours})


def _refusal(record: Record) -> Refusal | None:
    stuck = record.condition(ConditionType.STUCK)
    if stuck is None or not stuck.status or refusal_reason(stuck.reason) is None:
        return None
    return Refusal(stuck.reason, stuck.message, final=False)
