"""Tracebacks of a rank that still runs: counted by failure, with the last one, and read of few ranks and few bytes."""

import click
import pytest

from muster.api.errors import Unreachable
from muster.api.values.printable import MESSAGE
from muster.client import Client
from muster.client.explaining.lines import lines
from muster.client.logs.last_lines import MOST_BYTES, MOST_FAILED, TAIL, Tracebacks, read_tracebacks
from muster.kube.resources import ResourceClient
from tests.client.localserver import MANIFEST, LocalServer, ended, labels, running
from tests.client.test_last_lines import Logs, members

FAILS = ["Traceback (most recent call last):", '  File "/app/train.py", line 7, in step', "ValueError: loss is NaN"]
CHAINED = [
    "Traceback (most recent call last):",
    '  File "/app/data.py", line 3, in load',
    "KeyError: 'x'",
    "",
    "During handling of the above exception, another exception occurred:",
    "",
    *FAILS,
]
OF_TORCHRUN = [
    "Traceback (most recent call last):",
    '  File "/x/torch/distributed/launcher/api.py", line 3, in launch_agent',
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
]


def log(*failures: list[str], front: str = "") -> str:
    """Each of the failures is printed in a second of its own."""
    return "\n".join(
        f"1970-01-01T00:00:{second:02}Z {front}{line}" for second, each in enumerate(failures) for line in each
    )


async def read(logs: Logs, count: int = 1, status: dict[str, object] | None = None) -> tuple[Tracebacks, ...]:
    return await read_tracebacks(ResourceClient(logs), "default", members(count, status))


@pytest.mark.parametrize("front", ["", "[rank1]: ", "[default0]:[rank1]: "])
async def test_the_tracebacks_of_a_rank_that_runs_are_counted_with_the_last_one(front: str) -> None:
    started_again = ["starting again"]
    logs = Logs({"p0": log(FAILS, started_again, FAILS, started_again, FAILS, started_again, front=front)})
    found = Tracebacks(0, "p0", 3, 0.0, 4.0, "ValueError: loss is NaN", "train.py:7 in step")
    assert await read(logs) == (found,)
    assert logs.params == [
        {"container": "main", "tailLines": str(TAIL), "timestamps": "true", "limitBytes": str(MOST_BYTES)}
    ]


@pytest.mark.parametrize("front", ["", "[rank1]: "])
async def test_the_exceptions_of_one_failure_are_one_traceback(front: str) -> None:
    assert await read(Logs({"p0": log(CHAINED, front=front)})) == ()
    (found,) = await read(Logs({"p0": log(CHAINED, CHAINED, front=front)}))
    assert (found.count, found.exception) == (2, "ValueError: loss is NaN")


@pytest.mark.parametrize(
    "printed",
    [(FAILS, OF_TORCHRUN, OF_TORCHRUN), (["step 1"], FAILS, ["step 2"]), (FAILS, FAILS, ["x" * (MOST_BYTES - 100)])],
    ids=["those of a launcher", "one is no loop", "the end of the log is not reached"],
)
async def test_other_tracebacks_are_not_counted(printed: tuple[list[str], ...]) -> None:
    assert await read(Logs({"p0": log(*printed)})) == ()


async def test_a_rank_that_has_ended_or_whose_log_cannot_be_read_has_none() -> None:
    loops = log(FAILS, FAILS)
    assert await read(Logs({"p0": loops}), status=ended(1)) == ()
    assert [each.rank for each in await read(Logs({"p0": Unreachable("no route"), "p1": loops}), 2)] == [1]


async def test_few_ranks_are_read_and_their_words_are_cut() -> None:
    hostile = [FAILS[0], FAILS[1], f"ValueError: \x1b[2J{'x' * 9_000}"]
    logs = Logs({f"p{rank}": log(hostile, hostile) for rank in range(MOST_FAILED + 5)})
    found = await read(logs, MOST_FAILED + 5)
    assert len(found) == len(logs.asked) == MOST_FAILED
    assert all(len(each.exception) <= MESSAGE and each.exception.isprintable() for each in found)


async def test_an_explanation_has_them_of_a_run_that_is_not_over(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    server.status("mine", phase="Running", message="1/1 ranks arrived")
    server.pod("pod-0", labels("mine", 0), **running())
    server.print("pod-0", *FAILS, "again", *FAILS)
    shown = [click.unstyle(line) for line in lines(await client.explain("mine", last_lines=True), 10)]
    (said,) = [line for line in shown if "tracebacks" in line]
    assert said.startswith("  rank 0 printed 2 tracebacks")
    assert said.endswith("ago: ValueError: loss is NaN, raised at train.py:7 in step")
    server.status("mine", phase="Failed", message="over", finishTime="1970-01-01T00:00:09Z")
    assert not (await client.explain("mine", last_lines=True)).tracebacks
