"""ConfirmLaunch: the barrier before the first member of an epoch.

Caches may be late: after a restart of the daemon, a relist or a lost event they can show an epoch that is over, or
hide pods that still run, and a launch on such facts runs two epochs at once. So an epoch is launched on what the API
server says now: one GET of the owner and one consistent LIST of its pods.
"""

import msgspec

from muster.api.errors import NotFound
from reconcilers.answers import Metadata, read
from reconcilers.native.calls import Calls
from reconcilers.native.roster import pages
from reconcilers.outcome import Outcome
from reconcilers.paths import experiment
from state.actions import ConfirmLaunch
from state.plan import Plan

NAMED = 8
"""How many pods in the way are named."""


class _Spec(msgspec.Struct, frozen=True, gc=False):
    suspend: bool = False
    cancel: bool = False


class _Status(msgspec.Struct, frozen=True, gc=False):
    epoch: int = 0


class _Experiment(msgspec.Struct, frozen=True, gc=False):
    metadata: Metadata
    spec: _Spec = _Spec()
    status: _Status | None = None

    def wants(self, uid: str, epoch: int) -> bool:
        """Whether this very Experiment, as it is now, is to run that epoch."""
        persisted = self.status.epoch if self.status else 0
        leaving = self.spec.suspend or self.spec.cancel or self.metadata.deletion_timestamp is not None
        return self.metadata.uid == uid and persisted == epoch and not leaving


async def confirm_launch(calls: Calls, action: ConfirmLaunch, plan: Plan) -> Outcome:
    """Ask the live API whether the epoch may start. "No" is an ordinary answer: the caches will show why."""
    path = experiment(plan.namespace, plan.name)
    try:
        owner = read(await calls.do("GET", path), _Experiment, f"GET {path}")
    except NotFound:
        return Outcome(confirmed=False)
    if not owner.wants(plan.uid, action.epoch):
        return Outcome(confirmed=False)
    version = present = 0
    blocking: list[str] = []
    async for page in pages(calls, plan):
        version = max((version, *(pod.metadata.version for pod in page)))
        present += sum(pod.of(action.epoch) for pod in page)
        blocking += [pod.metadata.name for pod in page if pod.live and not pod.of(action.epoch)]
    return Outcome(
        version=version,
        confirmed=not blocking,
        owner=owner.metadata.version,
        launched=present >= plan.together,
        blocking=tuple(blocking[:NAMED]),
    )
