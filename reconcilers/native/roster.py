"""The pods of an experiment as the API server knows them now, not as a cache last heard of them.

One LIST without a resourceVersion, which the server answers from its consistent state (kubernetes.io: "Kubernetes API
Concepts", semantics for get and list), a page at a time.
"""

from collections.abc import AsyncIterator

import msgspec

from muster.api.names import LABEL_EPOCH, LABEL_UID
from reconcilers.answers import Metadata, read
from reconcilers.native.calls import Calls
from reconcilers.paths import core
from state.plan import Plan
from state.pod import PodPhase

PAGE = 500
"""Pods per page: the page size of Kubernetes' own clients (client-go: tools/pager)."""


class _Labels(msgspec.Struct, frozen=True, gc=False):
    epoch: str = msgspec.field(name=LABEL_EPOCH, default="")


class _Metadata(Metadata, frozen=True, gc=False):
    labels: _Labels | None = None


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class LivePod(msgspec.Struct, frozen=True, gc=False):
    """What the barrier must know of a pod."""

    metadata: _Metadata
    status: _Status = _Status()

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
