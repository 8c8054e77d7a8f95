"""What the situations of `make real` ask of an experiment, with a watch that has no cluster behind it."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from muster.client.snapshot import ExperimentChange, snapshot_of
from tests.real.site import Site


class Watch:
    """A client whose watch shows those phases, and then nothing more, ends, or fails."""

    def __init__(self, *phases: str, end: BaseException | None = None, lasts: bool = True) -> None:
        self._phases, self._end, self._lasts = phases, end, lasts

    async def watch(self, name: str, *, namespace: str) -> AsyncGenerator[ExperimentChange, None]:
        for phase in self._phases:
            obj: dict[str, Any] = {"kind": "Experiment", "metadata": {"name": name, "namespace": namespace}, "spec": {}}
            yield ExperimentChange("MODIFIED", snapshot_of({**obj, "status": {"phase": phase}}))
        if self._end is not None:
            raise self._end
        if self._lasts:
            await asyncio.Event().wait()


def site(watch: Watch) -> Site:
    nothing: Any = None
    stands_in: Any = watch
    return Site(nothing, stands_in, nothing, "team", nothing)


@contextlib.contextmanager
def fails(why: str) -> Iterator[None]:
    with pytest.raises(AssertionError, match=why):
        yield


async def test_what_is_seen_and_never_so_is_never_so() -> None:
    await site(Watch("Pending", "Running")).never("run", lambda seen: seen.finished, 0)


async def test_never_fails_for_what_is_so_for_what_is_not_seen_and_for_a_watch_that_ends() -> None:
    with fails("^run: Failed"):
        await site(Watch("Running", "Failed")).never("run", lambda seen: seen.finished, 60)
    with fails("^run was not seen in 0 s"):
        await site(Watch()).never("run", lambda seen: seen.finished, 0)
    with fails("^the watch of run has ended"):
        await site(Watch("Running", lasts=False)).never("run", lambda seen: seen.finished, 60)


async def test_until_fails_for_what_is_not_so_for_what_is_not_seen_and_for_a_watch_that_ends() -> None:
    assert (await site(Watch("Running", "Failed")).until("run", lambda seen: seen.finished, 60)).phase == "Failed"
    with fails("^run after 0 s: Running"):
        await site(Watch("Pending", "Running")).until("run", lambda seen: seen.finished, 0)
    with fails("^run after 0 s: never seen"):
        await site(Watch()).until("run", lambda seen: seen.finished, 0)
    with fails("^the watch of run has ended"):
        await site(Watch("Running", lasts=False)).until("run", lambda seen: seen.finished, 60)


async def test_a_request_that_times_out_is_not_the_end_of_the_time() -> None:
    with pytest.raises(TimeoutError, match="no answer"):
        await site(Watch("Running", end=TimeoutError("no answer"))).never("run", lambda seen: seen.finished, 60)
