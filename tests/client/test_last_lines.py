"""The last line and the tracebacks of each rank: read with the rights of the caller, of few ranks and few bytes."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import click
import pytest

from muster.api.errors import Forbidden, Unreachable
from muster.api.values.printable import MESSAGE
from muster.client import Client, LastLine
from muster.client.explaining.lines import lines
from muster.client.logs.gang_log import AT_ONCE
from muster.client.logs.last_lines import (
    MOST_BYTES,
    MOST_FAILED,
    MOST_READ,
    TAIL,
    Tracebacks,
    read_last_lines,
    read_tracebacks,
)
from muster.client.member import Member, member_of
from muster.client.snapshot import snapshot_of
from muster.kube.resources import ResourceClient
from tests.client.localserver import MANIFEST, LocalServer, ended, labels, running
from tests.client.test_missing_rights import WithoutRights


class Logs:
    """A way to the logs of pods. ``last`` has what each pod logged last: a line, nothing, or an error."""

    def __init__(self, last: Mapping[str, str | Exception]) -> None:
        self.last = last
        self.asked: list[str] = []
        self.params: list[Mapping[str, str]] = []
        self.open = 0
        self.most_open = 0

    async def request(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("only logs are read")

    @asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        pod = path.split("/")[-2]
        self.asked.append(pod)
        self.params.append(params)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        await asyncio.sleep(0)
        last = self.last.get(pod, "")
        try:
            if isinstance(last, Exception):
                raise last
            yield self._play(last)
        finally:
            self.open -= 1

    async def _play(self, last: str) -> AsyncIterator[bytes]:
        for line in filter(None, last.split("\n")):
            yield line.encode()


def members(count: int, status: dict[str, Any] | None = None) -> list[Member]:
    seen = running() if status is None else status
    return [
        member_of({"metadata": {"name": f"p{r}", "labels": labels("mine", r)}, "status": seen}) for r in range(count)
    ]


async def read(logs: Logs, found: list[Member], before: float | None = None) -> tuple[LastLine, ...]:
    ended = {} if before is None else {"finishTime": f"1970-01-01T00:00:0{before}Z"}
    experiment = snapshot_of({"metadata": {"namespace": "default"}, "status": ended})
    return await read_last_lines(ResourceClient(logs), experiment, found)


async def test_only_one_line_of_a_bounded_length_is_asked_for() -> None:
    logs = Logs({"p0": "1970-01-01T00:01:40.5Z step 7"})
    assert await read(logs, members(1)) == (LastLine(0, "p0", None, 100.5, "step 7"),)
    assert logs.params == [{"container": "main", "tailLines": "1", "timestamps": "true", "limitBytes": "4096"}]


async def test_after_the_end_the_last_line_is_the_one_before_it() -> None:
    stopped = "1970-01-01T00:00:01Z step 7\n1970-01-01T00:00:05Z step 8\n1970-01-01T00:00:09Z got SIGTERM"
    logs = Logs({"p0": stopped, "p1": "1970-01-01T00:00:09Z got SIGTERM"})
    found = await read(logs, members(2), before=5.5)
    assert [(line.at, line.text) for line in found] == [(5.0, "step 8"), (9.0, "got SIGTERM")]
    assert (logs.params[0]["tailLines"], logs.params[0]["limitBytes"]) == ("20", "81920")


async def test_of_a_progress_bar_the_last_state_is_the_line() -> None:
    logs = Logs({"p0": "1970-01-01T00:00:01Z  10%\r 20%\x1b[2J\r", "p1": "1970-01-01T00:00:01Z " + "x" * 4000})
    bar, long = await read(logs, members(2))
    assert bar.text == " 20%\ufffd[2J"
    assert len(long.text) == MESSAGE


async def test_a_rank_without_a_started_container_has_no_line() -> None:
    logs = Logs({})
    assert await read(logs, members(2, {"phase": "Pending"})) == ()
    assert logs.asked == []


async def test_a_rank_that_logged_nothing_has_no_time() -> None:
    assert await read(Logs({}), members(1)) == (LastLine(0, "p0", None, None, ""),)


async def test_a_log_that_cannot_be_read_costs_no_other_rank_its_line() -> None:
    lost = Unreachable("dial tcp 10.0.0.7:10250: no route to host")
    logs = Logs({"p0": lost, "p1": "1970-01-01T00:00:01Z here"})
    assert [(line.text, line.unread) for line in await read(logs, members(2))] == [("", lost.message), ("here", "")]


async def test_a_missing_right_is_met_by_one_request() -> None:
    denied = Forbidden("pods is forbidden: cannot get resource pods/log", status=403, reason="Forbidden")
    logs = Logs({f"p{rank}": denied for rank in range(40)})
    with pytest.raises(Forbidden):
        await read(logs, members(40))
    assert logs.asked == ["p0"]


async def test_many_logs_are_read_at_once_and_not_all() -> None:
    logs = Logs({})
    found = await read(logs, members(MOST_READ + 10))
    assert logs.most_open == AT_ONCE
    assert len(logs.asked) == MOST_READ
    assert {line.rank: line.unread for line in found if line.unread} == dict.fromkeys(
        range(MOST_READ, MOST_READ + 10), "at most 1,024 are read"
    )


async def test_the_ranks_that_ended_or_are_not_ready_are_read_before_the_others() -> None:
    logs = Logs({})
    last = members(3)[2]
    gang = [*members(2), *members(3, ended(0))[2:]]
    assert [line.exit_code for line in await read(logs, gang)] == [None, None, 0]
    assert logs.asked == [last.pod, "p0", "p1"]


async def test_an_explanation_without_the_right_to_read_logs_says_so(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    server.status("mine", phase="Running", message="2/2 ranks arrived")
    server.pod("pod-0", labels("mine", 0), **running())
    async with Client(transport=WithoutRights(client.transport, "logs"), namespace="default") as limited:
        found = await limited.explain("mine", last_lines=True)
    shown = [click.unstyle(line) for line in lines(found, 10)]
    assert 'not shown: pods "pod-0" is forbidden: cannot get resource "pods/log"' in shown
    assert not any("Last line" in line for line in shown)
    assert [member.pod for member in found.members] == ["pod-0"]


async def test_an_explanation_reads_no_log_unless_it_is_asked_to(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    server.pod("pod-0", labels("mine", 0), **running())
    server.print("pod-0", "one")
    assert (await client.explain("mine")).last_lines == ()
    assert [line.text for line in await client.last_lines("mine")] == ["one"]


FAILS = ["Traceback (most recent call last):", '  File "/app/train.py", line 7, in step', "ValueError: loss is NaN"]
CHAIN = ["", "During handling of the above exception, another exception occurred:", ""]
CHAINED = [FAILS[0], '  File "/app/data.py", line 3, in load', "KeyError: 'x'", *CHAIN, *FAILS]
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


async def loops_of(logs: Logs, count: int = 1, status: dict[str, object] | None = None) -> tuple[Tracebacks, ...]:
    return await read_tracebacks(ResourceClient(logs), "default", members(count, status))


@pytest.mark.parametrize("front", ["", "[rank1]: ", "[default0]:[rank1]: "])
async def test_the_tracebacks_of_a_rank_that_runs_are_counted_with_the_last_one(front: str) -> None:
    started_again = ["starting again"]
    logs = Logs({"p0": log(FAILS, started_again, FAILS, started_again, FAILS, started_again, front=front)})
    found = Tracebacks(0, "p0", 3, 0.0, 4.0, "ValueError: loss is NaN", "train.py:7 in step")
    assert await loops_of(logs) == (found,)
    assert logs.params == [
        {"container": "main", "tailLines": str(TAIL), "timestamps": "true", "limitBytes": str(MOST_BYTES)}
    ]


@pytest.mark.parametrize("front", ["", "[rank1]: "])
async def test_the_exceptions_of_one_failure_are_one_traceback(front: str) -> None:
    assert await loops_of(Logs({"p0": log(CHAINED, front=front)})) == ()
    (found,) = await loops_of(Logs({"p0": log(CHAINED, CHAINED, front=front)}))
    assert (found.count, found.exception) == (2, "ValueError: loss is NaN")


@pytest.mark.parametrize(
    "printed",
    [(FAILS, OF_TORCHRUN, OF_TORCHRUN), (["step 1"], FAILS, ["step 2"]), (FAILS, FAILS, ["x" * (MOST_BYTES - 100)])],
    ids=["those of a launcher", "one is no loop", "the end of the log is not reached"],
)
async def test_other_tracebacks_are_not_counted(printed: tuple[list[str], ...]) -> None:
    assert await loops_of(Logs({"p0": log(*printed)})) == ()


async def test_a_rank_that_has_ended_or_whose_log_cannot_be_read_has_none() -> None:
    loops = log(FAILS, FAILS)
    assert await loops_of(Logs({"p0": loops}), status=ended(1)) == ()
    assert [each.rank for each in await loops_of(Logs({"p0": Unreachable("no route"), "p1": loops}), 2)] == [1]


async def test_few_ranks_are_read_and_their_words_are_cut() -> None:
    hostile = [FAILS[0], FAILS[1], f"ValueError: \x1b[2J{'x' * 9_000}"]
    logs = Logs({f"p{rank}": log(hostile, hostile) for rank in range(MOST_FAILED + 5)})
    found = await loops_of(logs, MOST_FAILED + 5)
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
