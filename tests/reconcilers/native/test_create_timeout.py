"""A create waits longer in a namespace whose last create had no answer, for a limited number of namespaces."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from muster.api.errors import Forbidden, Unreachable
from muster.kube.connection import TIMEOUT_REASON
from muster.kube.fair_share import FairShare
from muster.kube.transport import Answer
from muster.reconcilers.requests.batch import CREATE_TIMEOUT, LONG_CREATE_TIMEOUT, MOST_SLOW, Calls
from tests.fakes.plans import gang


class Admission:
    """A server that raises ``error`` for each create, or admits without one. ``limits`` has the calls' time limits."""

    def __init__(self) -> None:
        self.error: Unreachable | Forbidden | None = None
        self.limits: list[float | None] = []

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> Answer:
        self.limits.append(timeout)
        if self.error is not None:
            raise self.error
        return Answer(201, b"{}")

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise AssertionError("nothing is watched through this transport")


class Creates:
    """The creates of one daemon."""

    def __init__(self) -> None:
        self.admission = Admission()
        self.calls = Calls(self.admission, creates=FairShare(4), others=FairShare(4), now=lambda: 0.0)

    async def silent(self, namespace: str) -> None:
        self.admission.error = Unreachable("no answer", reason=TIMEOUT_REASON)
        with pytest.raises(Unreachable):
            await self.calls.create(gang(1, namespace=namespace), "pods", b"{}")

    async def refused(self, namespace: str) -> None:
        self.admission.error = Forbidden("denied", status=403)
        with pytest.raises(Forbidden):
            await self.calls.create(gang(1, namespace=namespace), "pods", b"{}")

    async def limit(self, namespace: str) -> float | None:
        """Return the time limit of an admitted create, which ends the longer waiting."""
        self.admission.error = None
        await self.calls.create(gang(1, namespace=namespace), "pods", b"{}")
        return self.admission.limits[-1]


async def test_a_create_waits_longer_after_one_without_an_answer() -> None:
    creates = Creates()
    await creates.silent("slow")
    assert await creates.limit("quick") == CREATE_TIMEOUT
    assert await creates.limit("slow") == LONG_CREATE_TIMEOUT


async def test_any_answer_ends_the_longer_waiting() -> None:
    creates = Creates()
    await creates.silent("slow")
    assert await creates.limit("slow") == LONG_CREATE_TIMEOUT
    assert await creates.limit("slow") == CREATE_TIMEOUT
    await creates.silent("slow")
    await creates.refused("slow")
    assert await creates.limit("slow") == CREATE_TIMEOUT


async def test_no_more_than_a_limited_number_of_slow_namespaces_is_remembered() -> None:
    creates = Creates()
    await creates.silent("again")
    for number in range(MOST_SLOW - 1):
        await creates.silent(f"deleted-{number}")
    await creates.silent("again")
    await creates.silent("latest")
    assert await creates.limit("deleted-0") == CREATE_TIMEOUT, "the oldest is forgotten"
    assert [await creates.limit(name) for name in ("deleted-1", "again", "latest")] == [LONG_CREATE_TIMEOUT] * 3
