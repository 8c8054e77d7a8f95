"""JAXJobs (kubeflow.org/v1), as Muster runs them: the plan of one, and its own status.

Names, labels and variables are those of Kubeflow's training operator v1.9.4 (pkg/controller.v1/jax), as a program that
runs there expects them. ``COORDINATOR_ADDRESS`` is a host without a port; here it ends in the subdomain, because one
headless Service serves all workers. ``JAX_COORDINATOR_ADDRESS`` is added: JAX reads no other by itself.

A collective program cannot continue when one of its processes is replaced, so if Kubeflow restarts a container or a
pod, the whole gang is restarted. ``backoffLimit`` counts these restarts; without one they have no limit, as there.

The status is what the training operator writes (pkg/core/status.go and job.go). The condition that holds now is
last: ``kubectl get jaxjobs`` shows its type. Running and Restarting exclude each other, Succeeded and Failed set
Running to False and are forever. What the job waits for is in the message of the condition that holds. Other than
there, a job whose gang is restarted is Restarting until a worker runs again.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from muster.api.gang import GroupSize
from muster.api.manifest.edits import digest
from muster.api.values.timestamps import whole_time
from muster.kinds.declaration import RESTART_GRACE, SIGABRT_EXIT, RunKind
from muster.kinds.jax.jaxjob import JAXJob, parse_jaxjob
from muster.kinds.jax.operator import CULPRITS, SURVIVOR_TEXT
from muster.kinds.planning.parts import DEFAULT_GRACE, clocks_of, local_queue_of
from muster.state.view.view import View
from muster.state.vocabulary.group import Coordinator, Group, ProbeKind
from muster.state.vocabulary.plan import MAX_EPOCH, Plan
from muster.state.vocabulary.plan_parts import Edits, Failures, Naming, RestartPolicy, Watching
from muster.state.vocabulary.pod import Env, PodSpec, Source
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.rules import GANG_FAILURE_RULES, FailureAction, FailureRule
from muster.state.vocabulary.subject import JAXJOB, Names

OPERATOR: Final = "jaxjob"
GROUP: Final = "worker"
PREFIX: Final = "training.kubeflow.org"
CONTROLLER: Final = "jaxjob-controller"

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
"""Rules for a failure, by ``restartPolicy``."""


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a JAXJob. Raises ``SpecError``."""
    job = parse_jaxjob(obj)
    policy = job.spec.run_policy
    deadline = policy.active_deadline_seconds
    return Plan(
        uid=job.uid,
        namespace=job.namespace,
        name=job.name,
        generation=job.generation,
        operator=OPERATOR,
        subject=JAXJOB,
        groups=(_workers(job),),
        coordinator=Coordinator(0, job.port, ProbeKind.JAX if job.replicas > 1 else ProbeKind.NONE),
        clocks=tuple(clocks_of(None if deadline is None else float(deadline))),  # again after each resumption
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
    """Return a JAXJob that can be planned, with another number of workers."""
    specs = {key: {**each, "replicas": sizes[0].pods} for key, each in obj["spec"]["jaxReplicaSpecs"].items()}
    return {**obj, "spec": {**obj["spec"], "jaxReplicaSpecs": specs}}


def labels_of(name: str) -> dict[str, str]:
    """Return the labels that all workers share."""
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


ENDED: Final = frozenset(("Succeeded", "Failed"))
DEADLINE: Final = "was active longer than specified deadline"
BACKOFF: Final = "has reached the specified backoff limit"
"""The two phrases by which readers know the failures of the run policy from others: their reason is the same."""

Conditions = list[dict[str, Any]]


def status_of(plan: Plan, record: Record, view: View, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the status of a JAXJob."""
    over = any(each.get("type") in ENDED and each.get("status") == "True" for each in before.get("conditions") or ())
    replicas = _replicas(plan, record, view)
    known = (before.get("replicaStatuses") or {}).get("Worker")
    if over and isinstance(known, Mapping):
        replicas = dict(known)  # what becomes of the pods after the end is not counted
    status: dict[str, Any] = {
        "conditions": _conditions(plan, record, before, running=replicas["active"] > 0),
        "replicaStatuses": {"Worker": replicas},
        "lastReconcileTime": whole_time(record.updated_at),
    }
    if record.started_at is not None:
        status["startTime"] = whole_time(record.started_at)
    if record.finished_at is not None:
        status["completionTime"] = whole_time(record.finished_at)
    return status


def _replicas(plan: Plan, record: Record, view: View) -> dict[str, Any]:
    tally = view.of(record.epoch)
    succeeded, failed = tally.of_group(GROUP).succeeded, len(tally.failed)
    active = 0 if record.finished else max(0, tally.of_group(GROUP).started - succeeded - failed)
    selector = ",".join(f"{name}={value}" for name, value in labels_of(plan.name).items())
    return {"active": active, "succeeded": succeeded, "failed": failed, "selector": selector}


def _conditions(plan: Plan, record: Record, before: Mapping[str, Any], *, running: bool) -> Conditions:
    at, what = whole_time(record.updated_at), f"JAXJob {plan.namespace}/{plan.name}"
    found = [dict(each) for each in before.get("conditions") or ()]
    waits = f": {record.message}" if record.message else "."

    def turn(kind: str, reason: str, message: str, *, status: str = "True") -> None:
        old = next((each for each in found if each.get("type") == kind), None)
        made = {"type": kind, "status": status, "reason": f"JAXJob{reason}", "message": message}
        if old is not None and old.get("status") == status:
            if any(old.get(key) != value for key, value in made.items()):
                old.update(made, lastUpdateTime=at)
            return
        if old is not None:
            found.remove(old)
        found.append({**made, "lastUpdateTime": at, "lastTransitionTime": at})

    def drop(kind: str) -> None:
        found[:] = [each for each in found if each.get("type") != kind]

    def holds(kind: str) -> bool:
        return any(each.get("type") == kind and each.get("status") == "True" for each in found)

    begun = holds("Running") or holds("Restarting")
    turn("Created", "Created", f"{what} is created{waits if not (begun or running or record.finished) else '.'}")
    if record.phase is Phase.SUSPENDED:
        drop("Restarting")
        if any(each.get("type") == "Running" for each in found):
            turn("Running", "Suspended", f"{what} is not running.", status="False")
        turn("Suspended", "Suspended", f"{what} is suspended.")
    elif holds("Suspended"):
        turn("Suspended", "Resumed", f"{what} is resumed.", status="False")
    if record.phase is Phase.RESTARTING or (record.gathering and not running and holds("Restarting")):
        drop("Running")
        turn("Restarting", "Restarting", f"{what} is restarting{waits}")
    elif record.gathering and (running or holds("Running")):
        drop("Restarting")
        turn("Running", "Running", f"{what} is running{waits}")
    if record.finished:
        drop("Restarting")
        if any(each.get("type") == "Running" for each in found):
            turn("Running", "Running", f"{what} is running.", status="False")
        if record.phase is Phase.SUCCEEDED:
            turn("Succeeded", "Succeeded", f"{what} successfully completed.")
        else:
            turn("Failed", "Failed", f"{what} {_why(record)}")
    return found


def _why(record: Record) -> str:
    phrase = {"DeadlineExceeded": DEADLINE, "BackoffLimitExceeded": BACKOFF}.get(record.reason)
    return f"has failed because it {phrase}: {record.message}" if phrase else f"has failed: {record.message}"


DECLARED: Final = (
    RunKind(
        JAXJOB,
        ("spec", "runPolicy", "managedBy"),
        parse_jaxjob,
        plan_of,
        status_of,
        with_sizes,
        install="install the CRD of Kubeflow's training operator v1.9",
        unmanaged=True,  # Kubeflow ignores managedBy, so one without it may be either's
        ended=ENDED,
    ),
)
