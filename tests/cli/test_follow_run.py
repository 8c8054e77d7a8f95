"""``muster run`` after its experiment was submitted: interruptions, grace periods, and failures not worth a restart."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from muster.cli.manifests import Manifest
from muster.cli.processes import evidence, follow_run
from muster.cli.processes.follow_run import RunFollower
from muster.cli.processes.interrupts import Interrupts
from muster.cli.processes.stack import LocalCluster
from muster.cli.terminal.display import Lines
from muster.client import Client, Snapshot
from muster.kinds.manifests.load import load_any
from tests.client.localserver import MANIFEST, LocalServer, ended, labels, local_server, running

GRACE = "  gracefulTermination: {terminationGracePeriodSeconds: 60}\n"
PLAN = Manifest("", "", load_any(MANIFEST + GRACE, filename="mine")).assisted(True, default=True).plan(name="mine")
NOWHERE = "http://127.0.0.1:9"
"""No musterd, so no roll call."""


class Presses(Interrupts):
    """Interruptions without signals."""

    def press(self) -> None:
        self._take()


class Printed(Lines):
    """A display that keeps what is printed, and lets a test wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.more = asyncio.Event()

    def say(self, words: str) -> None:
        self.words.append(words)
        self.more.set()

    def log(self, rank: int, line: str) -> None:
        self.say(f"[{rank}] {line}")

    async def heard(self, words: str) -> None:
        async with asyncio.timeout(20):
            while not any(words in each for each in self.words):
                self.more.clear()
                await self.more.wait()


class Run:
    """One followed experiment on a cluster without a daemon: the test writes its status and its pods."""

    def __init__(self, server: LocalServer, client: Client, seen: Snapshot) -> None:
        self.server = server
        self.client = client
        self.name = seen.name
        self.printed = Printed()
        self.interrupts = Presses()
        self.follower = RunFollower(client, seen, self.printed, PLAN, LocalCluster(Path(), NOWHERE, Path()))
        self.task = asyncio.create_task(self.follower.to_the_end(self.interrupts))

    async def on_server(self, work: Callable[[], Any]) -> None:
        """Something that blocks until the server has done it."""
        await asyncio.to_thread(work)

    async def status(self, **status: Any) -> None:
        await self.on_server(lambda: self.server.status(self.name, **status))

    async def start(self) -> None:
        """Both members run."""
        for rank in (0, 1):
            await self.on_server(partial(self.server.pod, f"pod-{rank}", labels(self.name, rank), **running()))
            await self.on_server(partial(self.server.print, f"pod-{rank}", f"rank {rank} is up"))
        await self.status(phase="Running")
        await self.printed.heard("rank 0 is up")

    async def end(self, rank: int) -> None:
        """A member has used its grace period, and ends."""
        await self.on_server(lambda: self.server.print(f"pod-{rank}", "saved", ends=True))
        await self.on_server(lambda: self.server.pod(f"pod-{rank}", labels(self.name, rank), **ended(0)))

    async def fails(self, code: int, message: str) -> None:
        """Rank 1 has ended with that code, and no restart is left."""
        cause = {"epoch": 0, "pod": "pod-1", "rank": 1, "node": "local", "exitCode": code, "reason": "Error"}
        await self.status(phase="Failed", reason="BackoffLimitExceeded", message=message, cause=cause)

    async def asked_to_cancel(self) -> None:
        async with asyncio.timeout(20), contextlib.aclosing(self.client.watch(self.name)) as changes:
            async for change in changes:
                if change.experiment.raw["spec"].get("cancel"):
                    return

    async def last(self) -> Snapshot:
        async with asyncio.timeout(20):
            return await self.task

    async def over(self) -> Snapshot:
        """Both members end."""
        for rank in (0, 1):
            await self.end(rank)
        return await self.last()


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Run]:
    """One whose members run."""
    with local_server(tmp_path) as server:
        async with Client(server.kubeconfig) as client:
            followed = Run(server, client, await client.submit(MANIFEST, name="mine"))
            await followed.start()
            yield followed
            followed.task.cancel()
            await asyncio.gather(followed.task, return_exceptions=True)


def at(seconds: int) -> str:
    return f"2026-01-31T12:00:{seconds:02}.000000Z"


async def cancelled(run: Run, **more: Any) -> None:
    """The command is interrupted, and the daemon has seen the cancellation."""
    run.interrupts.press()
    await run.printed.heard("cancelling mine: its pods have 60 s to end")
    await run.asked_to_cancel()
    await run.status(phase="Failed", reason="Cancelled", message="cancelled by spec.cancel", **more)


async def test_what_a_restart_cost_is_reported_once(run: Run) -> None:
    resumed = "resumed at step 40: 16 steps (8 s) lost, 22 s to recover"
    line = {"time": at(1), "epoch": 1, "reason": "StepsResumed", "message": resumed}
    await run.status(phase="Running", epoch=1, story=[line])
    await run.printed.heard(resumed)
    await run.status(phase="Running", epoch=1, story=[line], ready=2)
    await run.status(phase="Succeeded", reason="Succeeded", message="all 2 members succeeded")
    await run.over()
    assert sum(resumed in each for each in run.printed.words) == 1


async def test_an_interruption_waits_until_the_pods_have_ended_and_counts_those_that_have_not(run: Run) -> None:
    await cancelled(run)
    await run.printed.heard("waiting for 2 ranks to end, 60 s left; Ctrl-C again stops them now")
    await run.end(0)
    await run.printed.heard("[0] saved")
    await run.printed.heard("waiting for 1 rank to end, ")
    assert not run.task.done(), "rank 1 still has its grace period"
    await run.end(1)
    assert (await run.last()).reason == "Cancelled"
    assert run.follower.outcome().endswith(": cancelled, because this command was interrupted")


@pytest.mark.parametrize(
    ("since", "known"),
    [(9, "; rank 1 (pod-1) blocked the gang for 8s (NeverCalled: it runs)"), (2, "")],
    ids=["it was stuck", "it was stuck before, and no longer"],
)
async def test_an_interrupted_run_names_at_its_end_what_it_waited_for(run: Run, since: int, known: str) -> None:
    cause = {"epoch": 0, "rank": 1, "pod": "pod-1", "reason": "NeverCalled", "message": "it runs"}
    cause |= {"evidence": "cancelled by spec.cancel", "knownForSeconds": 8, "time": at(since)}
    await cancelled(run, startTime=at(0), finishTime=at(9), cause=cause)
    await run.over()
    assert run.follower.outcome().endswith(f": cancelled, because this command was interrupted{known}")


async def test_the_time_in_which_the_pods_end_belongs_to_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(follow_run, "monotonic", lambda: now[0])
    await run.status(phase="Failed", reason="DeadlineExceeded", startTime=at(0), finishTime=at(6), message="too late")
    await run.printed.heard("s left; Ctrl-C stops them now")
    now[0] += 30
    await run.over()
    assert run.follower.outcome() == "mine Failed after 36s: too late"


async def test_a_second_interruption_does_not_wait_for_the_pods(run: Run) -> None:
    await cancelled(run)
    await run.printed.heard("cancelling")
    run.interrupts.press()
    assert (await run.last()).reason == "Cancelled"


async def test_a_second_interruption_does_not_wait_for_the_daemon(run: Run) -> None:
    run.interrupts.press()
    await run.printed.heard("cancelling")
    run.interrupts.press()
    assert not (await run.last()).finished
    assert run.follower.outcome() == "mine was left as Running"


async def test_a_pod_that_does_not_end_is_not_waited_for_beyond_its_grace(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow_run, "GRACE_MARGIN", -60.0)
    await cancelled(run)
    assert (await run.last()).finished


async def test_pods_of_a_failed_experiment_are_not_waited_for(run: Run) -> None:
    await run.fails(1, "rank 1 failed; not restarted (restart limit 0)")
    assert (await run.last()).outcome == "Failed"


async def test_a_member_that_runs_again_alone_does_not_end_its_epoch(run: Run) -> None:
    cause = {"epoch": 0, "pod": "pod-1", "rank": 1, "node": "local", "exitCode": 137, "signal": 9}
    await run.status(phase="Running", attempts=[{"ranks": "1", "attempt": 1}], cause=cause)
    await run.printed.heard(
        "rank 1 (pod-1) ended with exit code 137 (SIGKILL) on node local; it runs again, and the others"
    )
    assert not any("ended because" in each for each in run.printed.words)
    await run.end(0)
    await run.end(1)
    await run.status(phase="Succeeded", reason="AllMembersSucceeded")
    assert (await run.last()).outcome == "Succeeded"


async def fail(run: Run, code: int, *lines: str) -> None:
    """Rank 1 fails and the daemon restarts the gang."""
    cause = {"epoch": 0, "pod": "pod-1", "rank": 1, "node": "local", "exitCode": code, "reason": "Error"}
    await run.status(phase="Restarting", epoch=1, restarts=1, cause=cause)
    await run.printed.heard("epoch 0 ended because")
    await run.on_server(lambda: run.server.print("pod-1", *lines, ends=True))
    await run.on_server(lambda: run.server.pod("pod-1", labels("mine", 1), **ended(code)))


async def test_a_script_that_is_not_there_is_not_restarted(run: Run) -> None:
    line = "python3: can't open file '/x/tarin.py': [Errno 2] No such file or directory"
    await fail(run, 2, line)
    await run.printed.heard("not restarted, as it would end in the same way: python3: can't open")
    await run.asked_to_cancel()
    await run.status(phase="Failed", reason="Cancelled", message="cancelled by spec.cancel")
    last = await run.last()
    assert last.outcome == "Failed"
    assert last.raw["metadata"]["annotations"]["muster.dev/cancelled"].startswith("muster run of ")
    assert run.follower.outcome().endswith(
        f"rank 1 (pod-1) ended with exit code 2 on node local; not restarted: {line}"
    )
    assert not any("cancelling" in words for words in run.printed.words)


TRACEBACK = ["Traceback (most recent call last):", '  File "train.py", line 1, in <module>', "ValueError: loss is NaN"]


async def test_a_traceback_of_any_rank_is_shown_at_once_and_again_at_the_end(run: Run) -> None:
    await run.on_server(lambda: run.server.print("pod-1", "step 3", *TRACEBACK, "waiting for the others"))
    for line in TRACEBACK:
        await run.printed.heard(f"[1] {line}")
    assert not any("[1] step 3" in words for words in run.printed.words)
    await run.fails(134, "rank 1 failed; not restarted (restart limit 0)")
    await run.last()
    await run.printed.heard("[1] waiting for the others")
    shown = run.printed.words.count(f"[1] {TRACEBACK[-1]}")
    assert shown == 1, "the last lines repeat no traceback"
    assert run.follower.traceback() == ["the traceback of rank 1 was:", *(f"  {line}" for line in TRACEBACK)]


async def test_why_a_run_has_ended_is_reported_once_at_the_end(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    await run.fails(1, "rank 1 failed: boom")
    await run.last()
    assert not any("ended because" in words for words in run.printed.words)
    printed = capfd.readouterr().err
    assert "Failed" in printed
    assert "boom" not in printed
    assert run.follower.outcome().endswith("rank 1 failed: boom")


async def test_a_rank_that_runs_on_after_its_traceback_is_named_and_so_is_its_exception_at_the_end(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "RUNS_ON", 0.01)
    await run.on_server(lambda: run.server.print("pod-1", *TRACEBACK))
    await run.printed.heard("rank 1 has raised ValueError and has neither ended nor printed anything")
    await run.fails(134, "rank 1 ended with exit code 134")
    await run.last()
    assert run.follower.outcome().endswith("rank 1 ended with exit code 134; rank 1 had raised ValueError: loss is NaN")


async def test_the_state_dump_of_raylet_is_one_line(run: Run) -> None:
    dump = [f"[state-dump] resource {number}" for number in range(20)]
    await run.on_server(lambda: run.server.print("pod-0", *dump, "rank 1 is lost", *dump, "goes on"))
    await run.printed.heard("[0] goes on")
    assert not any("[state-dump]" in words for words in run.printed.words)
    folded = [words for words in run.printed.words if "state dump" in words]
    (line,) = folded
    assert line.startswith("rank 0: raylet's state dump is left out; muster logs mine --kubeconfig ")
    assert line.endswith(" -n default shows it")


async def test_a_success_shows_no_traceback_at_the_end(run: Run) -> None:
    await run.on_server(lambda: run.server.print("pod-1", *TRACEBACK))
    await run.printed.heard(f"[1] {TRACEBACK[-1]}")
    await run.status(phase="Succeeded", message="all 2 members succeeded")
    await run.last()
    assert run.follower.traceback() == []


async def test_other_failures_are_restarted(run: Run) -> None:
    await fail(run, 1, "RuntimeError: peer lost")
    await run.printed.heard("[1] RuntimeError: peer lost")
    await run.status(phase="Running", epoch=1, restarts=1)
    await run.status(phase="Succeeded", epoch=1, restarts=1, message="all 2 members succeeded")
    assert (await run.last()).outcome == "Succeeded"
    assert not (await run.client.get("mine")).raw["spec"].get("cancel")


async def test_after_a_deadline_the_last_line_of_each_rank_is_shown(run: Run) -> None:
    await run.status(phase="Failed", reason="DeadlineExceeded", message="the experiment did not finish within 60 s")
    assert (await run.over()).outcome == "Deadline"
    heading, *shown = await run.follower.last_lines()
    assert heading == "last line of each rank:"
    assert len(shown) == 1, "both say the same"
    assert shown[0].startswith("  ranks 0-1  ")
    assert shown[0].endswith("(exit code 0)  saved")


async def test_after_another_end_no_last_lines_are_read(run: Run) -> None:
    await run.status(phase="Succeeded", message="all 2 members succeeded")
    await run.last()
    assert await run.follower.last_lines() == []
