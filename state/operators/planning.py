"""From an Experiment to its plan."""

from collections.abc import Iterator

from muster.api.errors import MusterError
from muster.api.manifest.experiment import Clock as ClockSpec
from muster.api.manifest.experiment import Experiment, ExperimentSpec
from muster.state.operators.framework import Framework
from muster.state.operators.jax import JAX
from muster.state.operators.jobset import JOBSET
from muster.state.operators.master import PYTORCH, XGBOOST
from muster.state.operators.shaping import shape_of
from muster.state.plan import Backoff, Clock, ClockAction, ClockName, Env, Group, Plan, Source, StartupOrder, Volume

FRAMEWORKS: dict[str, Framework] = {"jax": JAX, "pytorch": PYTORCH, "xgboost": XGBOOST, "jobset": JOBSET}

DEFAULT_GRACE = 30
"""Seconds from SIGTERM to SIGKILL when a person ends a run (Kubernetes' own default)."""
TERMINATING = Clock(120.0, ClockAction.ALERT)
"""Old pods that take this long to end are worth an alert even if nobody asked: nothing starts before they do."""


class PlanError(MusterError):
    """The spec is well-formed, but asks for something this release does not do."""


def plan_of(experiment: Experiment) -> Plan:
    """The plan of an experiment. Raises ``PlanError``."""
    spec = experiment.spec
    framework = FRAMEWORKS.get(spec.operator)
    if framework is None:
        known = ", ".join(FRAMEWORKS)
        raise PlanError(f"spec.operator: {spec.operator} experiments are not run by this release; it runs {known}")
    _refuse_unsupported(spec)
    graceful = spec.graceful_termination
    grace = graceful.termination_grace_period_seconds if graceful else None
    backoff = spec.restart_policy.backoff
    return Plan(
        uid=experiment.uid,
        namespace=experiment.namespace,
        name=experiment.name,
        generation=experiment.generation,
        operator=spec.operator,
        image=spec.image,
        command=spec.command,
        groups=tuple(_groups(experiment, framework)),
        coordinator=framework.coordinator(spec.groups),
        startup=StartupOrder(spec.startup.order),
        limit=spec.restart_policy.backoff_limit,
        backoff=Backoff(backoff.initial_seconds, backoff.max_seconds, backoff.factor),
        clocks=_clocks(spec),
        suspend=spec.suspend,
        cancel=spec.cancel,
        deleting=experiment.deletion_timestamp is not None,
        grace=DEFAULT_GRACE if grace is None else grace,
        pre_stop=graceful.shutdown_command if graceful else (),
        ptrace=bool(spec.security_context and spec.security_context.ptrace),
        volumes=tuple(_volumes(spec)),
    )


def _identity(experiment: Experiment) -> tuple[Env, ...]:
    """What every member may know of itself: for checkpoints, logs and results that several epochs share."""
    return (
        Env("MUSTER_EXPERIMENT", Source.LITERAL, experiment.name),
        Env("MUSTER_EXPERIMENT_UID", Source.LITERAL, experiment.uid),
        Env("MUSTER_EPOCH", Source.EPOCH),
        Env("MUSTER_RANK", Source.RANK),
    )


def _groups(experiment: Experiment, framework: Framework) -> Iterator[Group]:
    groups = experiment.spec.groups
    rank = job = 0
    for group in groups:
        yield Group(
            name=group.name,
            replicas=group.count,
            completions=group.completions,
            shape=shape_of(group.resources),
            first_rank=rank,
            first_job=job,
            env=(*_identity(experiment), *framework.env(group, groups)),
            parallelism=group.parallelism,
            template=experiment.spec.template_of(group),
        )
        rank += group.members
        job += group.count


def _clocks(spec: ExperimentSpec) -> dict[ClockName, Clock]:
    clocks = {ClockName.TERMINATING: TERMINATING}
    if (deadline := spec.deadline_seconds) is not None:
        clocks[ClockName.TOTAL] = Clock(deadline, ClockAction.FAIL)
    stated: dict[ClockName, ClockSpec | None] = {
        ClockName.PENDING: spec.clocks.pending,
        ClockName.ASSEMBLY: spec.clocks.assembly,
        ClockName.TERMINATING: spec.clocks.terminating,
    }
    return clocks | {
        name: Clock(clock.after_seconds, ClockAction(clock.action)) for name, clock in stated.items() if clock
    }


def _volumes(spec: ExperimentSpec) -> Iterator[Volume]:
    if spec.storage:
        yield from (Volume(claim.name, claim.mount_point) for claim in spec.storage.attach_existing_pvcs)
    claim = spec.tensorboard.use_pvc if spec.tensorboard and spec.tensorboard.enabled else None
    if claim and claim.enabled and claim.name:
        yield Volume(claim.name, TENSORBOARD_PATH)


TENSORBOARD_PATH = "/tensorboard"
"""Where TensorBoard's claim is mounted."""


def _refuse_unsupported(spec: ExperimentSpec) -> None:
    """Better no run than one that silently lacks what its manifest asks for."""
    if spec.storage and spec.storage.shared_volume:
        raise PlanError("spec.storage.sharedVolume: this release makes no volumes; attach an existing claim instead")
    debug = spec.debug
    if debug and ((debug.vscode and debug.vscode.enabled) or (debug.jupyter and debug.jupyter.enabled)):
        raise PlanError("spec.debug: this release starts no debug servers; remove it or set enabled to false")
