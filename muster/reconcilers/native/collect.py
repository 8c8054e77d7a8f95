"""Deletes the pods of an Experiment that is gone, as the garbage collector does, and sooner.

An Experiment that is deleted in the usual way (background) is gone at once, and its pods are the garbage collector's,
which deletes some 20 a second by default. The same rules as there: one GET must say that the owner is gone (404, or
another uid), one consistent LIST gives the pods that it still controls (after ``--cascade=orphan`` there are none), and
each is deleted by uid. What cannot be deleted is left to the garbage collector.
"""

from muster.api.errors import Conflict, NotFound
from muster.kube.metadata import Object, read
from muster.kube.paths import core
from muster.reconcilers.native.batch import Batch, Calls
from muster.reconcilers.native.confirm import LivePod, pages
from muster.reconcilers.native.delete import delete_options
from muster.reconcilers.refs import ref_of
from muster.reconcilers.result import Outcome
from muster.state.plan import Plan


async def collect_pods(calls: Calls, plan: Plan) -> Outcome:
    """Delete the pods of the plan's Experiment, if the API server says that it is gone."""
    async with calls.slots(plan):
        if await _exists(calls, plan):
            return Outcome()
        pods = [pod async for page in pages(calls, plan) for pod in page if pod.metadata.deletion_timestamp is None]

    async def delete(pod: LivePod) -> int:
        path = core(plan.namespace, "pods", pod.metadata.name)
        try:
            answer = await calls.do("DELETE", path, body=delete_options(pod.metadata.uid, None))
        except (NotFound, Conflict):  # the garbage collector was there before
            return 0
        return read(answer, Object, f"DELETE {path}").metadata.version

    batch = Batch[LivePod]()
    await batch.run(f"collect pods of {plan.namespace}/{plan.name}", pods, delete, calls.slots(plan))
    return batch.outcome()


async def _exists(calls: Calls, plan: Plan) -> bool:
    path = ref_of(plan).path
    try:
        return read(await calls.do("GET", path), Object, f"GET {path}").metadata.uid == plan.uid
    except NotFound:
        return False
