"""DeletePods: deletes pods by name and uid, so that a newer pod of the same name is left alone.

Where pods that have ended are to stay (``unless_ended``), each pod is read first: the watch may be late by minutes, and
a deletion would take the log with it. It is then deleted as it was read, and not if it has changed since.
"""

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from muster.api.errors import ApiError, Conflict, NotFound
from muster.api.names import LABEL_UID
from muster.kube.metadata import Metadata, Object, read
from muster.kube.paths import core
from muster.reconcilers.requests.batch import Batch, Calls, delete_options
from muster.reconcilers.requests.refusals import refusal_of
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.actions import DeletePods
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod, PodPhase

_ENDED = (PodPhase.SUCCEEDED, PodPhase.FAILED)


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class _Found(msgspec.Struct, frozen=True, gc=False):
    """A pod of the live API."""

    metadata: Metadata
    status: _Status = _Status()


async def delete_pods(calls: Calls, action: DeletePods, plan: Plan) -> Outcome:
    """Delete the pods."""
    pods = list(_worth_deleting(action, calls.now()))
    batch = Batch[Pod]()

    async def delete(pod: Pod) -> int | Refusal | None:
        path = core(pod.namespace, "pods", pod.name)
        try:
            version = ""
            if action.unless_ended:
                found = read(await calls.do("GET", path), _Found, f"GET {path}")
                if found.metadata.uid != pod.uid or found.status.phase in _ENDED:
                    return 0
                version = found.metadata.resource_version
            answer = await calls.do("DELETE", path, body=delete_options(pod.uid, action.grace, version))
        except NotFound:
            return 0
        except Conflict as error:
            # Another pod has the name by now, or this one was changed while the API server deleted it.
            if await _gone(calls, pod, path):
                return 0
            batch.postpone(error)
            return None
        except ApiError as error:
            if refusal := refusal_of(error, "delete", "Pod", f"{pod.name} ({action.why})", plan):
                return replace(refusal, final=False)
            raise
        left = read(answer, Object, f"DELETE {path}").metadata
        return left.version if LABEL_UID in (left.labels or {}) else 0  # without the label no watch brings that version

    await batch.run(f"delete pods of {plan.namespace}/{plan.name}", pods, delete, calls.slots(plan))
    return replace(batch.outcome(), deleted=tuple(batch.done))


async def _gone(calls: Calls, pod: Pod, path: str) -> bool:
    """Whether the live API has no pod of that uid any more."""
    try:
        return read(await calls.do("GET", path), Object, f"GET {path}").metadata.uid != pod.uid
    except NotFound:
        return True


def _worth_deleting(action: DeletePods, now: float) -> Iterator[Pod]:
    """The pods that a DELETE would change: it can only shorten a grace period (metav1 DeleteOptions).

    Grace 0 is always sent: it alone removes a pod whose grace period is over on a node that does not answer.
    """
    for pod in action.pods:
        shortens = action.grace is not None and (action.grace == 0 or now + action.grace < pod.delete_by)
        if not pod.terminating or shortens:
            yield pod
