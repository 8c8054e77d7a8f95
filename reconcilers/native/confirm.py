"""ConfirmLaunch: the barrier before the first member of an epoch.

Caches may be late: after a restart of the daemon, a relist or a lost event they can show an epoch that is over, or
hide pods that still run, and a launch on such facts runs two epochs at once. So an epoch is launched on what the API
server says now: one GET of the owner and one consistent LIST of its pods.

ConfirmLoss: is a member's pod really gone?

A cache that is late lacks pods too, and a gang must not be restarted because a list was late. So the pods of the epoch
are counted where they are kept. Ended pods count as there: they ended, they were not lost.

The pods of an experiment as the API server knows them now, not as a cache last heard of them.

One LIST without a resourceVersion, which the server answers from its consistent state (kubernetes.io: "Kubernetes API
Concepts", semantics for get and list), a page at a time.
"""

from collections.abc import AsyncIterator

import msgspec

from muster.api.errors import NotFound
from muster.api.names import LABEL_EPOCH, LABEL_UID
from muster.kube.metadata import Metadata, read
from muster.kube.paths import core
from muster.reconcilers.native.batch import Calls
from muster.reconcilers.refs import experiment_path
from muster.reconcilers.result import Outcome
from muster.state.actions import ConfirmLaunch, ConfirmLoss
from muster.state.plan import Plan
from muster.state.pod import PodPhase

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
    path = experiment_path(plan.namespace, plan.name)
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


async def confirm_loss(calls: Calls, action: ConfirmLoss, plan: Plan) -> Outcome:
    """Ask the live API whether the epoch has fewer pods than the gang has members."""
    version = present = 0
    async for page in pages(calls, plan):
        version = max((version, *(pod.metadata.version for pod in page)))
        present += sum(pod.of(action.epoch) for pod in page)
    return Outcome(version=version, lost=present < plan.together)


PAGE = 500
"""Pods per page: the page size of Kubernetes' own clients (client-go: tools/pager)."""


class _Labels(msgspec.Struct, frozen=True, gc=False):
    epoch: str = msgspec.field(name=LABEL_EPOCH, default="")


class _Metadata(Metadata, frozen=True, gc=False):
    labels: _Labels | None = None


class _PodStatus(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class LivePod(msgspec.Struct, frozen=True, gc=False):
    """What the barrier must know of a pod."""

    metadata: _Metadata
    status: _PodStatus = _PodStatus()

    def of(self, epoch: int) -> bool:
        """It bears the label of that epoch."""
        return self.metadata.labels is not None and self.metadata.labels.epoch == str(epoch)

    @property
    def live(self) -> bool:
        """It may still run something. A terminating pod runs until it is gone."""
        return self.status.phase not in (PodPhase.SUCCEEDED, PodPhase.FAILED)


class _Page(msgspec.Struct, frozen=True, gc=False):
    token: str = msgspec.field(name="continue", default="")


class _Pods(msgspec.Struct, frozen=True, gc=False):
    metadata: _Page = _Page()
    items: tuple[LivePod, ...] | None = None


async def pages(calls: Calls, plan: Plan) -> AsyncIterator[list[LivePod]]:
    """The pods that the plan's Experiment controls, of every epoch, page by page. Its label alone makes no pod its own.

    Raises ``ApiError``; ``Expired`` when the pages took longer than the server keeps its history.
    """
    path, token = core(plan.namespace, "pods"), ""
    while True:
        params = {"labelSelector": f"{LABEL_UID}={plan.uid}", "limit": str(PAGE)}
        if token:
            params["continue"] = token
        page = read(await calls.do("GET", path, params=params), _Pods, f"GET {path}")
        yield [pod for pod in page.items or () if (owner := pod.metadata.controller) and owner.uid == plan.uid]
        token = page.metadata.token
        if not token:
            return
