"""StopPods: lets the kubelet end the containers of pods, which stay for their logs.

``activeDeadlineSeconds`` may be set on a running pod, once (kubernetes: pkg/apis/core/validation, ValidatePodUpdate).
It counts from the pod's start, so a second is over at once: the kubelet ends the containers within the pod's grace
period and reports the pod as failed, reason DeadlineExceeded (pkg/kubelet/active_deadline.go).
"""

from dataclasses import replace

import msgspec

from muster.api.errors import ApiError, Conflict, Invalid, NotFound
from muster.kube.metadata import Object, read
from muster.kube.paths import core
from muster.kube.resources import MERGE_PATCH
from muster.reconcilers.requests.batch import Batch, Calls
from muster.reconcilers.requests.refusals import refusal_of
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.actions import StopPods
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod

DEADLINE = 1
"""The shortest that Kubernetes takes."""


async def stop_pods(calls: Calls, action: StopPods, plan: Plan) -> Outcome:
    """Stop the pods."""
    batch = Batch[Pod]()

    async def stop(pod: Pod) -> int | Refusal | None:
        path = core(pod.namespace, "pods", pod.name)
        body = {"metadata": {"uid": pod.uid}, "spec": {"activeDeadlineSeconds": DEADLINE}}
        try:
            answer = await calls.do("PATCH", path, body=msgspec.json.encode(body), content_type=MERGE_PATCH)
        except (NotFound, Invalid):  # gone; or one that cannot be stopped so, and is deleted in time
            return 0
        except Conflict as error:  # another pod has the name by now, or the API server was writing this one
            batch.postpone(error)
            return None
        except ApiError as error:
            if refusal := refusal_of(error, "stop", "Pod", f"{pod.name} ({action.why})", plan):
                return replace(refusal, final=False)
            raise
        return read(answer, Object, f"PATCH {path}").metadata.version

    await batch.run(f"stop pods of {plan.namespace}/{plan.name}", action.pods, stop, calls.slots(plan))
    return replace(batch.outcome(), stopped=tuple(batch.done))
