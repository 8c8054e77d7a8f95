"""From an Experiment to its plan."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from muster.api.declared import declared
from muster.api.manifest.depends_on import DependsOn
from muster.api.manifest.edits import shape_of
from muster.api.manifest.experiment import Experiment, ExperimentSpec
from muster.api.manifest.policies.restart_policy import AvoidNodes
from muster.api.names import (
    ANNOTATION_CANCELLED,
    ANNOTATION_RESTART,
    LABEL_EXPERIMENT,
    LABEL_MANAGED_BY,
    LABEL_UID,
    MANAGER,
    PRIORITY_LABEL,
    QUEUE_LABEL,
    name_suffix,
)
from muster.kinds.declaration.operator import Operator
from muster.kinds.declaration.plan_error import PlanError
from muster.kinds.experiments.debug import debugged, with_notice
from muster.kinds.planning.metadata import FOREGROUND, ORPHAN
from muster.kinds.planning.pod_specs import pod_spec_of
from muster.state.vocabulary.coordinator import Coordinator
from muster.state.vocabulary.group import Group, Role
from muster.state.vocabulary.plan import MAX_POD_SETS, Plan, Queue
from muster.state.vocabulary.plan_parts import LONGEST_GRACE, Edits, Failures, Lifecycle, RestartPolicy
from muster.state.vocabulary.pod_spec import Claim, Env, Port, Source, Volume
from muster.state.vocabulary.rules import (
    CLOCKS,
    Backoff,
    ClockAction,
    ClockName,
    ClockRule,
    FailureAction,
    FailureRule,
    Gate,
    GateCondition,
    Quantifier,
    SuccessRule,
)

REGISTRY: dict[str, Operator] = {each.name: each for each in declared("operator", Operator)}
"""The operators, by their names."""

MASTER = "master"
"""The group that pytorch and xgboost manifests may name for rank 0 alone."""


def plan_of(experiment: Experiment) -> Plan:
    """Return the plan of an experiment. Raises ``PlanError``."""
    experiment = debugged(experiment)
    spec = experiment.spec
    operator = REGISTRY[spec.operator]
    graceful = spec.graceful_termination
    stated = graceful is not None and graceful.termination_grace_period_seconds is not None
    backoff, avoid = spec.restart_policy.backoff, spec.restart_policy.avoid_nodes
    coordinator = operator.coordinator(spec.groups)
    plan = Plan(
        uid=experiment.uid,
        namespace=experiment.namespace,
        name=experiment.name,
        generation=experiment.generation,
        operator=spec.operator,
        groups=tuple(_groups(experiment, operator, coordinator)),
        coordinator=coordinator,
        success=_success(spec, operator),
        clocks=tuple(_clocks(spec)),
        queue=_queue(experiment),
        failures=Failures(
            rules=(*_failures(spec), *operator.failures),
            survivor_exits=operator.survivor_exits,
            survivor_text=operator.survivor_text,
            culprits=operator.culprits,
            launcher=operator.launcher,
        ),
        restarts=RestartPolicy(
            limit=spec.restart_policy.backoff_limit,
            max_disruptions=spec.restart_policy.max_disruptions,
            backoff=Backoff(backoff.initial_seconds, backoff.max_seconds, backoff.factor),
            jitter=backoff.jitter,
            same_failure_limit=spec.restart_policy.same_failure_limit,
            same_failure_ends=spec.restart_policy.same_failure_action == "Fail",
            renews=spec.restart_policy.renew_on_progress,
            avoid_nodes_after=avoid.after_failures if avoid else None,
            most_avoided=(avoid or AvoidNodes()).most,
            grace=None if stated else operator.restart_grace,
            longest_grace=max(LONGEST_GRACE, spec.clocks.terminating.after_seconds if spec.clocks.terminating else 0.0),
        ),
        edits=Edits(shape=shape_of(spec)),
        lifecycle=Lifecycle(
            ttl=spec.ttl_seconds,
            suspend=spec.suspend,
            cancel=spec.cancel,
            cancelled_by=experiment.annotations.get(ANNOTATION_CANCELLED, ""),
            restart_request=experiment.annotations.get(ANNOTATION_RESTART, ""),
            deleting=experiment.deletion_timestamp is not None,
            orphans=ORPHAN in experiment.finalizers,
            foreground=FOREGROUND in experiment.finalizers,
        ),
    )
    plan = operator.finish(experiment, plan) if operator.finish else plan
    return with_notice(experiment, _with_shared_volume(experiment, plan))


def _queue(experiment: Experiment) -> Queue | None:
    name = experiment.labels.get(QUEUE_LABEL, "")
    if not name:
        return None
    if len(experiment.spec.groups) > MAX_POD_SETS:
        count = len(experiment.spec.groups)
        raise PlanError(
            f"spec.types: a queued experiment has at most {MAX_POD_SETS} types, because a Workload has no "
            f"more podSets, and this one has {count}; merge types, or remove the label {QUEUE_LABEL}"
        )
    return Queue(name, experiment.labels.get(PRIORITY_LABEL, ""))


def _identity(experiment: Experiment) -> tuple[Env, ...]:
    """Return the variables that identify a member: for checkpoints, logs and results that several epochs share."""
    return (
        Env("MUSTER_EXPERIMENT", Source.LITERAL, experiment.name),
        Env("MUSTER_EXPERIMENT_UID", Source.LITERAL, experiment.uid),
        Env("MUSTER_EPOCH", Source.EPOCH),
        Env("MUSTER_RANK", Source.RANK),
    )


@lru_cache(maxsize=512)
def _shared(variable: Env) -> Env:
    """Return the equal variable of an earlier plan: most are those of the operator, and equal in its experiments."""
    return variable


def _groups(experiment: Experiment, operator: Operator, coordinator: Coordinator | None) -> Iterator[Group]:
    spec = experiment.spec
    rank = job = 0
    for group in spec.groups:
        meets_here = coordinator is not None and rank <= coordinator.rank < rank + group.members
        yield Group(
            name=group.name,
            replicas=group.count,
            completions=group.completions,
            pod=pod_spec_of(spec, group.resources),
            first_rank=rank,
            first_job=job,
            env=tuple(map(_shared, (*_identity(experiment), *operator.env(group, spec.groups)))),
            parallelism=group.parallelism,
            template=spec.template_of(group),
            role=Role.COORDINATOR if meets_here and group.name == MASTER else Role.WORKER,
            ports=(Port("coordinator", coordinator.port),) if coordinator and meets_here else (),
            gates=(*_gates(spec, coordinator), *(awaited(each, coordinator) for each in group.depends_on)),
        )
        rank += group.members
        job += group.count


def _gates(spec: ExperimentSpec, coordinator: Coordinator | None) -> tuple[Gate, ...]:
    """Return the gate of ``CoordinatorFirst``: wait until the coordinator serves, or is ready if no probe asks it."""
    if coordinator is None or spec.startup.order != "CoordinatorFirst":
        return ()
    return (Gate(GateCondition.READY if coordinator.probe.passive else GateCondition.SERVING),)


def awaited(gate: DependsOn, coordinator: Coordinator | None) -> Gate:
    """Return the gate of an entry of ``dependsOn``. Without a probe, Serving is that its group is ready."""
    if gate.status != "Serving":
        return Gate(GateCondition(gate.status), gate.group)
    silent = coordinator is None or coordinator.probe.passive
    return Gate(GateCondition.READY, gate.group) if silent else Gate(GateCondition.SERVING)


def _success(spec: ExperimentSpec, operator: Operator) -> SuccessRule:
    policy = spec.success_policy
    return SuccessRule(Quantifier(policy.operator), policy.targets) if policy else operator.success


def _failures(spec: ExperimentSpec) -> Iterator[FailureRule]:
    """Yield the rules of the spec. A rule without ``counted`` counts failures and no disruptions."""
    for number, rule in enumerate(spec.failure_policy.rules if spec.failure_policy else (), start=1):
        stated = FailureRule(
            FailureAction(rule.action),
            disruption=rule.disruption,
            groups=rule.target_groups,
            exit_codes=rule.on_exit_codes,
            reasons=rule.on_reasons,
            messages=rule.on_message_patterns,
            name=rule.name or f"{number}",
            limit=rule.limit,
        )
        for disruption in (True, False) if rule.disruption is None else (rule.disruption,):
            if rule.counted is None:
                yield replace(stated, disruption=disruption, counted=not disruption)
        if rule.counted is not None:
            yield replace(stated, counted=rule.counted)


def _clocks(spec: ExperimentSpec) -> Iterator[ClockRule]:
    """Yield the clocks that run.

    These are the clocks that the spec sets (``spec.clocks`` names them as ``ClockName`` does), the total where the spec
    has a timeout, and those whose row has a default.
    """
    for row in CLOCKS:
        stated = getattr(spec.clocks, row.name.value, None)
        if row.name is ClockName.TOTAL and spec.deadline_seconds is not None:
            yield replace(row, after=spec.deadline_seconds)
        elif stated is not None:
            yield replace(row, after=stated.after_seconds, action=ClockAction(stated.action))
        elif row.after:
            yield row


def _with_shared_volume(experiment: Experiment, plan: Plan) -> Plan:
    """Return the plan with the claim of ``spec.storage.sharedVolume``, and its volume in every group.

    The claim is made and removed with the experiment, and bears its uid, so that an experiment of the same name never
    finds the files of an earlier one.
    """
    storage = experiment.spec.storage
    wanted = storage.shared_volume if storage else None
    if wanted is None:
        return plan
    spec: dict[str, Any] = {
        "accessModes": [wanted.access_mode],
        "resources": {"requests": {"storage": str(round(wanted.size_gb * 10**9))}},
    }
    if wanted.storage_class is not None:  # else the cluster's default
        spec["storageClassName"] = wanted.storage_class
    labels = {LABEL_MANAGED_BY: MANAGER, LABEL_EXPERIMENT: plan.name, LABEL_UID: plan.uid}
    claim = Claim(f"{plan.name}-shared-{name_suffix(plan.uid, 0)}", spec, labels=labels, exclusive=True)
    volume = Volume(claim.name, wanted.mount_point)
    groups = (replace(each, pod=replace(each.pod, volumes=(volume, *each.pod.volumes))) for each in plan.groups)
    return replace(plan, claims=(*plan.claims, claim), groups=tuple(groups))
