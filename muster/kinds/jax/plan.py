"""JAXJob objects (kubeflow.org/v1): a JAXJob becomes a plan of the native engine.

Names, labels and variables are those of Kubeflow's training operator v1.9.4 (pkg/controller.v1/jax), as a program that
runs there expects them. ``COORDINATOR_ADDRESS`` is a host without a port; here it ends in the subdomain, because one
headless Service serves all workers. ``JAX_COORDINATOR_ADDRESS`` is added: JAX reads no other by itself.

A collective program cannot go on when one of its processes is replaced, so where Kubeflow restarts a container or a
pod, the whole gang is restarted. ``backoffLimit`` counts these restarts; without one they have no limit, as there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from muster.api.gang import GroupSize
from muster.kinds.jax.jaxjob import JAXJob, parse_jaxjob
from muster.kinds.jax.operator import CULPRITS, RESTART_GRACE, SIGABRT_EXIT, SURVIVOR_TEXT
from muster.kinds.planning.metadata import local_queue_of
from muster.kinds.planning.run_object import digest
from muster.state.vocabulary.clocks import CLOCKS
from muster.state.vocabulary.coordinator import Coordinator, ProbeKind
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import MAX_EPOCH, Plan
from muster.state.vocabulary.plan_parts import Edits, Failures, Naming, RestartPolicy, Watching
from muster.state.vocabulary.pod_spec import Env, PodSpec, Source
from muster.state.vocabulary.rules import (
    GANG_FAILURE_RULES,
    ClockAction,
    ClockName,
    ClockRule,
    FailureAction,
    FailureRule,
)
from muster.state.vocabulary.subject import JAXJOB, Names

OPERATOR: Final = "jaxjob"
GROUP: Final = "worker"
PREFIX: Final = "training.kubeflow.org"
CONTROLLER: Final = "jaxjob-controller"
DEFAULT_GRACE: Final = 30

RETRYABLE: Final = tuple(range(128, 256))
"""Exit codes after which ``ExitCode`` runs a worker again (train_util.go, IsRetryableExitCode)."""
_DISRUPTED: Final = FailureRule(FailureAction.RESTART_GANG, disruption=True, counted=False)
FAILURES: Final[dict[str, tuple[FailureRule, ...]]] = {
    "Never": (FailureRule(FailureAction.FAIL_EXPERIMENT),),
    "OnFailure": GANG_FAILURE_RULES,
    "Always": GANG_FAILURE_RULES,
    "ExitCode": (
        _DISRUPTED,
        FailureRule(FailureAction.RESTART_GANG, exit_codes=RETRYABLE),
        FailureRule(FailureAction.FAIL_EXPERIMENT),
    ),
}
"""What follows a failure, by ``restartPolicy``."""


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """The plan of a JAXJob. Raises ``SpecError``."""
    job = parse_jaxjob(obj)
    policy = job.spec.run_policy
    return Plan(
        uid=job.uid,
        namespace=job.namespace,
        name=job.name,
        generation=job.generation,
        operator=OPERATOR,
        subject=JAXJOB,
        groups=(_workers(job),),
        coordinator=Coordinator(0, job.port, ProbeKind.JAX if job.replicas > 1 else ProbeKind.NONE),
        clocks=_clocks(job),
        naming=Naming(names=Names.KUBEFLOW),
        watching=Watching(
            rivals=f"{PREFIX}/job-name={job.name},{PREFIX}/operator-name={CONTROLLER}",
            local_queue=local_queue_of(job.labels),
        ),
        failures=Failures(
            rules=FAILURES[job.worker.restart_policy],
            survivor_exits=frozenset({SIGABRT_EXIT}),
            survivor_text=SURVIVOR_TEXT,
            culprits=CULPRITS,
        ),
        edits=Edits(
            shape=f"jaxReplicaSpecs={digest([job.replicas, job.template])}",
            sizes=(GroupSize(GROUP, 1, job.replicas, job.replicas),),
        ),
        restarts=RestartPolicy(
            limit=MAX_EPOCH if policy.backoff_limit is None else policy.backoff_limit,
            grace=RESTART_GRACE if "terminationGracePeriodSeconds" not in job.worker.template.spec else None,
        ),
        lifecycle=job.lifecycle(
            suspend=bool(policy.suspend),
            ttl=policy.ttl_seconds_after_finished,
            keep_ended=policy.clean_pod_policy != "All",
        ),
    )


def with_sizes(obj: Mapping[str, Any], sizes: Sequence[GroupSize]) -> Mapping[str, Any]:
    """A JAXJob that can be planned, with another number of workers."""
    specs = {key: {**each, "replicas": sizes[0].pods} for key, each in obj["spec"]["jaxReplicaSpecs"].items()}
    return {**obj, "spec": {**obj["spec"], "jaxReplicaSpecs": specs}}


def labels_of(name: str) -> dict[str, str]:
    """The labels that all workers share."""
    return {f"{PREFIX}/job-name": name, f"{PREFIX}/operator-name": CONTROLLER, f"{PREFIX}/replica-type": GROUP}


def _workers(job: JAXJob) -> Group:
    grace = job.worker.template.spec.get("terminationGracePeriodSeconds")
    labels = [Env(name, Source.LITERAL, value) for name, value in labels_of(job.name).items()]
    return Group(
        name=GROUP,
        replicas=1,
        completions=job.replicas,
        pod=PodSpec(grace=DEFAULT_GRACE if grace is None else grace),
        first_rank=0,
        env=_environment(job),
        template=job.template,
        whole=True,
        labels=(*labels, Env(f"{PREFIX}/replica-index", Source.RANK)),
        coordinator_labels=(Env(f"{PREFIX}/job-role", Source.LITERAL, "master"),),
    )


def _environment(job: JAXJob) -> tuple[Env, ...]:
    return (
        Env("PYTHONUNBUFFERED", Source.LITERAL, "1"),
        Env("COORDINATOR_PORT", Source.LITERAL, str(job.port)),
        Env("COORDINATOR_ADDRESS", Source.COORDINATOR_HOST),
        Env("NUM_PROCESSES", Source.LITERAL, str(job.replicas)),
        Env("PROCESS_ID", Source.RANK),
        Env("JAX_COORDINATOR_ADDRESS", Source.LITERAL, f"$(COORDINATOR_ADDRESS):{job.port}"),
        Env("MUSTER_POD_IP", Source.POD_IP),
        Env("JAX_COORDINATOR_BIND_ADDRESS", Source.LITERAL, f"$(MUSTER_POD_IP):{job.port}"),
        Env("MUSTER_EPOCH", Source.EPOCH),
        Env("MUSTER_RANK", Source.RANK),
    )


def _clocks(job: JAXJob) -> tuple[ClockRule, ...]:
    """The total clock is ``activeDeadlineSeconds``: from the start, anew after each resumption."""
    deadline = job.spec.run_policy.active_deadline_seconds
    rows = (
        replace(row, after=float(deadline), action=ClockAction.FAIL)
        if row.name is ClockName.TOTAL and deadline is not None
        else row
        for row in CLOCKS
    )
    return tuple(row for row in rows if row.after)
