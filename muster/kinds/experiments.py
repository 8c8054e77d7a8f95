"""From an Experiment to its plan, by the declaration of its operator."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from muster.api.declared import declared
from muster.api.manifest.edits import shape_of
from muster.api.manifest.experiment import Experiment, ExperimentSpec
from muster.api.manifest.groups import DependsOn
from muster.api.manifest.policies import AvoidNodes
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
from muster.kinds.declaration import Operator, PlanError
from muster.kinds.planning.parts import FOREGROUND, ORPHAN, clocks_of, pod_spec_of
from muster.state.vocabulary.group import Coordinator, Group, ProbeKind, Role
from muster.state.vocabulary.plan import MAX_POD_SETS, Plan, Queue
from muster.state.vocabulary.plan_parts import LONGEST_GRACE, Edits, Failures, Lifecycle, RestartPolicy
from muster.state.vocabulary.pod import Claim, Env, Port, Source, Volume
from muster.state.vocabulary.rules import (
    Backoff,
    FailureAction,
    FailureRule,
    Gate,
    GateCondition,
    Quantifier,
    SuccessRule,
)

LONGEST = 12 * 3_600
"""Seconds that a debug server may run."""
JUPYTER_PORT = 8888
NO_PROGRAM = 127
"""The exit code of a shell for a program that does not exist."""
MESSAGE = "/dev/termination-log"
"""The file that the kubelet copies into the status (core/v1 Container.terminationMessagePath)."""


def debugged(experiment: Experiment) -> Experiment:
    """Return the experiment with a server as its command, if its spec asks for one: the debug modes.

    It is a Jupyter server (kuberay) or a VS Code tunnel (the others), which runs for 12 hours at most and is not
    restarted. It makes its token, or the code to sign in with, itself and prints it, so that reading it needs the right
    on logs, and no object has it (ADR 52): the kubelet does not copy the last lines of these pods into their status.
    The image must hold the program: otherwise the log and the termination message of the member report it.
    """
    command = _command(experiment.spec)
    if not command:
        return experiment
    spec = experiment.spec
    changes = {
        "command": command,
        "timeout": None,
        "active_deadline_seconds": min(LONGEST, spec.deadline_seconds or LONGEST),
        "failure_policy": None,
        "restart_policy": spec.restart_policy.model_copy(update={"backoff_limit": 0}),
    }
    return replace(experiment, spec=spec.model_copy(update=changes))


def with_notice(experiment: Experiment, plan: Plan) -> Plan:
    """Return the plan with what people must know of the server. Tunnels meet at no coordinator, so none is asked."""
    if not _command(experiment.spec):
        return plan
    silent = tuple(replace(group, pod=replace(group.pod, quotes_log=False)) for group in plan.groups)
    plan = replace(plan, groups=silent)
    logs = f"`muster logs {plan.name} -n {plan.namespace}`"
    if experiment.spec.operator == "kuberay":
        notice = (
            f"a Jupyter server takes the place of the command, on port {JUPYTER_PORT} of {{pod}} ({{host}}): "
            f"`kubectl port-forward -n {plan.namespace} {{pod}} {JUPYTER_PORT}`, and {logs} has its address with the "
            "token"
        )
        return replace(plan, notice=notice)
    notice = (
        "a VS Code tunnel takes the place of the command in each member: "
        f"{logs} has its address and the code to sign in with"
    )
    unasked = replace(plan.coordinator, probe=ProbeKind.NONE) if plan.coordinator else None
    return replace(plan, notice=notice, coordinator=unasked)


def _command(spec: ExperimentSpec) -> str:
    """Return the command of the server; empty where none is asked for."""
    debug = spec.debug
    if debug is None:
        return ""
    if debug.jupyter and debug.jupyter.enabled:
        server = (
            f"{shlex.quote(debug.jupyter.path)} server --ip=0.0.0.0 --port={JUPYTER_PORT} --no-browser --allow-root"
        )
        return f"{_present('debug.jupyter', debug.jupyter.path)}\nexec {server}"
    if debug.vscode and debug.vscode.enabled:
        program = shlex.quote(debug.vscode.path)
        name = 'm-$(printf %.8s "$MUSTER_EXPERIMENT_UID")-$MUSTER_RANK'  # 20 characters at most
        login = f"{program} tunnel user login --provider {debug.vscode.provider}"
        tunnel = f'{program} tunnel --accept-server-license-terms --name "{name}"'
        return f"{_present('debug.vscode', debug.vscode.path)}\n{login} && exec {tunnel}"
    return ""


def _present(field: str, program: str) -> str:
    """Return a line of shell that ends with a clear sentence where the image lacks the program."""
    text = f"spec.{field}: the image has no program {program}; install it there, or write its place as path"
    report = f"echo {shlex.quote(text)} >&2; [ ! -w {MESSAGE} ] || echo {shlex.quote(text)} >{MESSAGE}"
    return f"command -v {shlex.quote(program)} >/dev/null || {{ {report}; exit {NO_PROGRAM}; }}"


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
        clocks=tuple(clocks_of(spec.deadline_seconds, spec.clocks)),
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
