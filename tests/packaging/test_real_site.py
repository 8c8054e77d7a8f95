"""What the situations of `make real` ask of an experiment, with a watch that has no cluster behind it."""

import asyncio
from collections.abc import AsyncGenerator
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


async def test_what_never_is_so_and_what_is_so_in_the_end() -> None:
    await site(Watch("Pending", "Running")).never("run", lambda seen: seen.finished, 0)
    assert (await site(Watch("Running", "Failed")).until("run", lambda seen: seen.finished, 60)).phase == "Failed"


@pytest.mark.parametrize(
    ("asked", "watch", "seconds", "why"),
    [
        ("never", Watch("Running", "Failed"), 60, "^run: Failed"),
        ("never", Watch(), 0, "^run was not seen in 0 s"),
        ("until", Watch("Pending", "Running"), 0, "^run after 0 s: Running"),
        ("until", Watch(), 0, "^run after 0 s: never seen"),
        *((asked, Watch("Running", lasts=False), 60, "^the watch of run has ended") for asked in ("never", "until")),
    ],
)
async def test_never_and_until_fail_with_what_was_seen(asked: str, watch: Watch, seconds: float, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        await getattr(site(watch), asked)("run", lambda seen: seen.finished, seconds)


async def test_a_request_that_times_out_is_not_the_end_of_the_time() -> None:
    with pytest.raises(TimeoutError, match="no answer"):
        await site(Watch("Running", end=TimeoutError("no answer"))).never("run", lambda seen: seen.finished, 60)
