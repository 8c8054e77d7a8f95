"""Diagnose an experiment from what its user may read: the object, its status and its pods.

It is the diagnosis of the daemon, without what only the daemon has asked: the coordinator's last answer is that of the
status, and a refusal of the API server is the reason of the condition Stuck.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import asdict

from muster.api.errors import MusterError
from muster.api.manifest.experiment import parse_experiment
from muster.client import Explanation
from muster.kinds.experiments.planning import plan_of
from muster.kinds.registry.run_kinds import SUBJECTS
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.cause import LOOKS_WELL
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.facts.diagnosis.finding import Finding
from muster.state.facts.diagnosis.of_member import REFUSED_BY
from muster.state.view.engine_facts import Refusal
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import ConditionType, Phase, Record
from muster.watchers.pods.decode import flatten
from muster.watchers.pods.document import PodDocument

_REFUSED = re.compile(r"(Missing|Forbidden|Refused|Altered|Rejected)$|^ApiServer")
"""Reasons of refusals by the API server (``muster.reconcilers.requests.refusals``) that are no cause of their own.

``RanksMissing`` is none of them."""


def marks(diagnosed: Iterable[Finding]) -> dict[int, str]:
    """What is wrong with the members whose pods look well, by rank."""
    return {rank: each.what for each in diagnosed if each.cause in LOOKS_WELL for rank in each.ranks}


def findings(found: Explanation, now: float) -> tuple[Finding, ...]:
    """The findings; none where the object or its status cannot be understood."""
    if (observed := found.experiment.observed) is not None:
        if observed.plan is None or observed.record is None or not found.members_read:
            return ()
        return diagnose(Context(observed.plan, observed.record, observed.view, now))
    record = _record(found)
    plan = _plan(found) if record is not None else None
    if plan is None or record is None or not found.members_read:
        return ()
    view = View()
    for obj in found.pods:
        try:
            pod = flatten(msgspec.convert(obj, PodDocument))
        except (msgspec.ValidationError, ValueError):
            continue
        if plan.member(pod.rank) is not None:
            view.change(None, pod)
    view.remember(plan, record, now)
    view.engine.refusal = _refusal(record)
    return diagnose(Context(plan, record, view, now))


def _plan(found: Explanation) -> Plan | None:
    seen = found.experiment
    try:
        if (kind := SUBJECTS.get(seen.subject.kind)) is not None:
            return kind.plan_of(seen.raw)
        return plan_of(parse_experiment(seen.raw)) if isinstance(seen.raw, Mapping) else None
    except MusterError:
        return None


def _record(found: Explanation) -> Record | None:
    status = found.experiment.status
    if not isinstance(status.phase, Phase):
        return None
    ours = tuple(each for each in status.conditions if isinstance(each.type, ConditionType))
    return Record(**asdict(status) | {"conditions": ours})


def _refusal(record: Record) -> Refusal | None:
    stuck = record.condition(ConditionType.STUCK)
    if stuck is None or not stuck.status or stuck.reason == "RanksMissing":
        return None
    if stuck.reason not in REFUSED_BY and not _REFUSED.search(stuck.reason):
        return None
    return Refusal(stuck.reason, stuck.message, final=False)
