"""A gang whose ranks print nothing and make no step for longer than usual: a hint, with the rights of the reader."""

from collections.abc import Mapping

import pytest

from muster.api.errors import Unreachable
from muster.api.values.timestamps import whole_time
from muster.client.logs.silence import MOST_READ, of_gang
from muster.client.snapshot import Snapshot, snapshot_of
from muster.kube.resources import ResourceClient
from muster.state.summary.quiet import LEAST, of_steps
from tests.client.test_last_lines import Logs, members

NOW = 1_000_000_000.0


def seen(phase: str = "Running", **status: object) -> Snapshot:
    return snapshot_of({"metadata": {"namespace": "team", "name": "mine"}, "status": {"phase": phase} | status})


def lines(silent: float, every: float, count: int = 5) -> str:
    """So many lines, the last of them so many seconds ago."""
    return "\n".join(f"{whole_time(NOW - silent - every * back)} step" for back in reversed(range(count)))


async def shown_of(
    logs: Mapping[str, str | Exception], found: Snapshot | None = None, count: int = 2
) -> tuple[str, list[str]]:
    read = Logs(logs)
    return await of_gang(ResourceClient(read), found or seen(), members(count), NOW), read.asked


BOTH_SILENT = {"p0": lines(720, 4), "p1": lines(720, 4)}
LATE_START = {"p0": f"{whole_time(NOW - 5000)} imports\n{lines(60, 4)}", "p1": ""}


@pytest.mark.parametrize(
    ("logs", "stepped", "hint"),
    [
        ({"p0": lines(720, 4), "p1": lines(900, 4)}, None, "no rank has printed a line for 12m (usual: 4 s)"),
        ({"p0": lines(720, 4), "p1": lines(3, 4)}, None, ""),
        ({"p0": lines(200, 60), "p1": lines(200, 60)}, None, ""),
        (LATE_START, None, "no rank has printed a line for 60s (usual: 4 s)"),
        (BOTH_SILENT, 10, ""),
        (BOTH_SILENT, 600, "no rank has printed a line or made a step for 10m (usual: 4 s)"),
        ({"p0": lines(720, 4), "p1": Unreachable("cut off")}, None, ""),
        ({}, None, ""),
    ],
    ids=[
        "longer than usual",
        "one rank that prints is enough",
        "rare lines are usual",
        "a start is not usual",
        "a step counts as a line does",
        "the last step was long ago",
        "a log that cannot be read may have a line",
        "without a line nothing is usual",
    ],
)
async def test_silence_for_longer_than_usual_is_a_hint_with_what_is_usual(
    logs: Mapping[str, str | Exception], stepped: float | None, hint: str
) -> None:
    steps = {"epoch": 0, "step": 7, "time": whole_time(NOW - (stepped or 0)), "reporting": 2}
    shown, asked = await shown_of(logs, seen() if stepped is None else seen(steps=steps))
    assert (shown, asked) == (hint, ["p0", "p1"])


async def test_large_gangs_and_those_that_do_not_run_are_not_asked() -> None:
    assert await shown_of({}, count=MOST_READ + 1) == ("", [])
    assert await shown_of({"p0": lines(720, 4), "p1": ""}, seen("Assembling")) == ("", [])


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
