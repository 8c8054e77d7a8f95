"""Deletes the pods of an Experiment that is gone, as the garbage collector does, and sooner.

An Experiment that is deleted in the usual way (background) is gone at once, and its pods are the garbage collector's,
which deletes some 20 a second by default. The same rules as there: one GET must say that the owner is gone (404, or
another uid), one consistent LIST gives the pods that it still controls (after ``--cascade=orphan`` there are none), and
each is deleted by uid. What cannot be deleted is left to the garbage collector.

Pods that lost the label or the owner reference are in no such LIST, and without an owner reference nothing
would ever collect them. They are deleted by the uid that they were seen with while they were members.
"""

from muster.api.errors import Conflict, NotFound
from muster.kube.metadata import Object, read
from muster.kube.paths import core
from muster.reconcilers.native.live_pods import pages
from muster.reconcilers.refs import ref_of
from muster.reconcilers.requests.batch import Batch, Calls, delete_options
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod


async def collect_pods(calls: Calls, plan: Plan, vanished: tuple[Pod, ...] = ()) -> Outcome:
    """Delete the pods of the plan's Experiment, if the API server says that it is gone, and those that vanished."""
    async with calls.slots(plan):
        if await _exists(calls, plan):
            return Outcome()
        found = [pod.metadata async for page in pages(calls, plan) for pod in page]
    pods = [(pod.name, pod.uid) for pod in found if pod.deletion_timestamp is None]
    if not plan.lifecycle.orphans:
        pods += [(pod.name, pod.uid) for pod in vanished if (pod.name, pod.uid) not in pods]

    async def delete(pod: tuple[str, str]) -> int:
        name, uid = pod
        path = core(plan.namespace, "pods", name)
        try:
            answer = await calls.do("DELETE", path, body=delete_options(uid, None))
        except (NotFound, Conflict):  # the garbage collector was there before
            return 0
        return read(answer, Object, f"DELETE {path}").metadata.version

    batch = Batch[tuple[str, str]]()
    await batch.run(f"collect pods of {plan.namespace}/{plan.name}", pods, delete, calls.slots(plan))
    return batch.outcome()


async def _exists(calls: Calls, plan: Plan) -> bool:
    path = ref_of(plan).path
    try:
        return read(await calls.do("GET", path), Object, f"GET {path}").metadata.uid == plan.uid
    except NotFound:
        return False
