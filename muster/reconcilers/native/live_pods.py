"""The pods of an experiment as the API server has them now, page by page, and one by its name."""

from collections.abc import AsyncIterator

import msgspec

from muster.api.errors import NotFound
from muster.api.names import LABEL_ATTEMPT, LABEL_EPOCH, LABEL_RANK, selector_of
from muster.api.values.printable import small_number
from muster.kube.metadata import Metadata, read
from muster.kube.paths import core
from muster.reconcilers.requests.batch import Calls
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodPhase

PAGE = 500
"""Pods per page: the page size of Kubernetes' own clients (client-go: tools/pager)."""


class _PodStatus(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class LivePod(msgspec.Struct, frozen=True, gc=False):
    """The fields of a pod that the barrier reads."""

    metadata: Metadata
    status: _PodStatus = _PodStatus()

    @property
    def epoch(self) -> int:
        """The epoch that the pod is labelled with; -1 for nonsense."""
        return small_number((self.metadata.labels or {}).get(LABEL_EPOCH))

    @property
    def rank(self) -> int:
        """The rank that the pod is labelled with; -1 for nonsense."""
        return small_number((self.metadata.labels or {}).get(LABEL_RANK))

    @property
    def attempt(self) -> int:
        """The attempt that the pod is labelled with; -1 for nonsense."""
        said = (self.metadata.labels or {}).get(LABEL_ATTEMPT)
        return small_number(said) if said else 0

    def member_of(self, plan: Plan) -> bool:
        """Return whether the pod is controlled by the plan's Experiment, and named as one of its members.

        Labels and owner references are what the pod's creator wrote (``muster.state.view.membership``).
        """
        owner = self.metadata.controller
        ours = owner is not None and owner.uid == plan.uid
        return ours and plan.named(self.metadata.name, self.rank, self.epoch, self.attempt) is not None

    @property
    def live(self) -> bool:
        """Whether a container may still run. A terminating pod counts until it is gone."""
        return self.status.phase not in (PodPhase.SUCCEEDED, PodPhase.FAILED)


class _Page(msgspec.Struct, frozen=True, gc=False):
    token: str = msgspec.field(name="continue", default="")


class Pods(msgspec.Struct, frozen=True, gc=False):
    """One page of a list."""

    metadata: _Page = _Page()
    items: tuple[LivePod, ...] | None = None


async def pages(calls: Calls, plan: Plan) -> AsyncIterator[list[LivePod]]:
    """Yield the members' pods of every epoch, page by page.

    Raises ``ApiError``; ``Expired`` when the API server has compacted the revision of the first page.
    """
    async for page in _listed(calls, plan, {"labelSelector": selector_of(plan.uid)}):
        yield [pod for pod in page if pod.member_of(plan)]


async def everything(calls: Calls, plan: Plan) -> AsyncIterator[tuple[LivePod, ...]]:
    """Yield all pods of the namespace, of any labels and owners, page by page. Raises as ``pages`` does."""
    async for page in _listed(calls, plan, {}):
        yield page


async def named(calls: Calls, namespace: str, name: str) -> LivePod | None:
    """Return the pod of that name in the namespace, if there is one. Raises ``ApiError``."""
    path = core(namespace, "pods", name)
    try:
        return read(await calls.do("GET", path), LivePod, f"GET {path}")
    except NotFound:
        return None


async def _listed(calls: Calls, plan: Plan, which: dict[str, str]) -> AsyncIterator[tuple[LivePod, ...]]:
    path, token = core(plan.namespace, "pods"), ""
    while True:
        params = {**which, "limit": str(PAGE)}
        if token:
            params["continue"] = token
        page = read(await calls.do("GET", path, params=params), Pods, f"GET {path}")
        yield page.items or ()
        token = page.metadata.token
        if not token:
            return
