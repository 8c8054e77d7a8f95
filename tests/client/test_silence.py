"""A gang whose ranks print nothing and make no step for longer than usual: a hint, with the rights of the reader."""

from collections.abc import Mapping

import pytest

from muster.api.errors import Unreachable
from muster.api.values.timestamps import whole_time
from muster.client.logs.silence import MOST_READ, of_gang
from muster.client.snapshot import Snapshot, snapshot_of
from muster.kube.resources import ResourceClient
from muster.state.summary.quiet import LATE, LEAST, of_steps
from tests.client.test_last_lines import Logs, members

NOW = 1_000_000_000.0


def seen(phase: str = "Running", **status: object) -> Snapshot:
    return snapshot_of({"metadata": {"namespace": "team", "name": "mine"}, "status": {"phase": phase} | status})


def lines(silent: float, every: float, count: int = 5) -> str:
    """So many lines, the last of them so many seconds ago."""
    return "\n".join(f"{whole_time(NOW - silent - every * back)} step" for back in reversed(range(count)))


async def said(
    logs: Mapping[str, str | Exception], found: Snapshot | None = None, count: int = 2
) -> tuple[str, list[str]]:
    read = Logs(logs)
    return await of_gang(ResourceClient(read), found or seen(), members(count), NOW), read.asked


async def test_no_line_for_longer_than_usual_is_said_with_what_is_usual() -> None:
    hint, _ = await said({"p0": lines(720, 4), "p1": lines(900, 4)})
    assert hint == "no rank has printed a line for 12m (usual: 4 s)"


async def test_one_rank_that_prints_is_enough() -> None:
    assert await said({"p0": lines(720, 4), "p1": lines(3, 4)}) == ("", ["p0", "p1"])


async def test_rare_lines_are_usual_and_a_start_is_not() -> None:
    assert (await said({"p0": lines(200, 60), "p1": lines(200, 60)}))[0] == ""
    late_start = f"{whole_time(NOW - 5000)} imports\n{lines(60, 4)}"
    assert (await said({"p0": late_start, "p1": ""}))[0] == "no rank has printed a line for 60s (usual: 4 s)"


async def test_a_step_counts_as_a_line_does() -> None:
    steps = {"epoch": 0, "step": 7, "time": whole_time(NOW - 10), "reporting": 2}
    logs = {"p0": lines(720, 4), "p1": lines(720, 4)}
    assert (await said(logs, seen(steps=steps)))[0] == ""
    steps["time"] = whole_time(NOW - 600)
    assert (await said(logs, seen(steps=steps)))[0] == "no rank has printed a line or made a step for 10m (usual: 4 s)"


async def test_a_log_that_cannot_be_read_may_have_a_line() -> None:
    assert (await said({"p0": lines(720, 4), "p1": Unreachable("cut off")}))[0] == ""


async def test_large_gangs_and_those_that_do_not_run_are_not_asked() -> None:
    assert await said({}, count=MOST_READ + 1) == ("", [])
    assert await said({"p0": lines(720, 4), "p1": ""}, seen("Assembling")) == ("", [])


async def test_a_gang_without_a_line_says_nothing() -> None:
    assert (await said({}))[0] == ""


@pytest.mark.parametrize(
    ("silent", "rate", "hint"),
    [
        (LEAST, "0.25", ""),
        (720.0, "0.25", "no rank has made a step for 12m (usual: 4 s)"),
        (720.0, "", "no rank has made a step for 12m"),
        (720.0, "0.005", ""),
    ],
)
def test_of_the_status_steps_are_known(silent: float, rate: str, hint: str) -> None:
    steps = {"epoch": 0, "step": 7, "time": whole_time(NOW - silent), "perSecond": rate}
    assert of_steps(seen(steps=steps).status, NOW) == hint
    assert of_steps(seen(steps=steps | {"epoch": 3}).status, NOW) == ""
    assert LATE > 0
