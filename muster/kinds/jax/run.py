"""JAXJobs, as Muster runs them, and their own status, as the training operator writes it.

Source: Kubeflow training operator v1.9.4, pkg/core/status.go and job.go.

The condition that holds now stands last: ``kubectl get jaxjobs`` shows its type. Running and Restarting exclude each
other, Succeeded and Failed set Running to False and are forever. What the job waits for is in the message of the
condition that holds. Other than there, a job whose gang is restarted is Restarting until a worker runs again.
"""

from collections.abc import Mapping
from typing import Any, Final

from muster.api.values.timestamps import whole_time
from muster.kinds.declaration.run_kind import RunKind
from muster.kinds.jax import plan
from muster.kinds.jax.jaxjob import parse_jaxjob
from muster.kinds.jax.plan import GROUP, labels_of
from muster.state.view.read_only import ReadOnlyView
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.subject import JAXJOB

ENDED: Final = frozenset(("Succeeded", "Failed"))
DEADLINE: Final = "was active longer than specified deadline"
BACKOFF: Final = "has reached the specified backoff limit"
"""The two phrases by which readers know the failures of the run policy from others: their reason is the same."""

Conditions = list[dict[str, Any]]


def status_of(plan: Plan, record: Record, view: ReadOnlyView, before: Mapping[str, Any]) -> dict[str, Any]:
    """The status of a JAXJob."""
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


def _replicas(plan: Plan, record: Record, view: ReadOnlyView) -> dict[str, Any]:
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
        plan.plan_of,
        status_of,
        plan.with_sizes,
        install="install the CRD of Kubeflow's training operator v1.9",
        unmanaged=True,  # Kubeflow ignores managedBy, so one without it may be either's
        ended=ENDED,
    ),
)
