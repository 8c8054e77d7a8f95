"""One cluster and one musterd for many gangs: they start, come to their ways together, and their minute passes once."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from muster.api.errors import ApiError
from muster.cli.commands.get import get
from muster.client import Snapshot
from muster.client.stacks.reading import stacks_of
from muster.local.home import Caller, write_caller
from tests.e2e.environment import ROOT, Environment, environment, experiment
from tests.e2e.progress import endpoint
from tests.frameworks.interpreters import python_of
from tests.hangs.programs import AGAIN, DONE, GATE, HALTED, STEPS
from tests.hangs.rows import PROGRAMS, VERDICTS, Channel, Row, Shown

MINUTE = 60.0
BESIDE = 6
"""Gangs that start at the same time."""
STARTS = 200.0
"""Seconds after which the next ones start although one of these does not step."""
LOOK = 10.0
"""Seconds between two looks at what ``muster get`` prints."""


@dataclass(frozen=True, slots=True)
class Said:
    """What was said of a gang: a verdict, its end (an empty sentence), or another phase. ``at`` is wall time."""

    at: float
    reason: str
    sentence: str = ""


@dataclass(slots=True)
class Gang:
    """One gang, and all that was said of it."""

    row: Row
    victim: int
    folder: Path
    seen: Snapshot | None = None
    said: list[Said] = field(default_factory=list)
    hint: str = ""
    hint_at: float | None = None
    """The line of ``muster get`` that says why nothing is heard of it, and when it was printed first."""
    asked_at: float | None = None
    """When its stacks were asked for."""

    @property
    def name(self) -> str:
        return self.row.name

    def since(self, name: str) -> float | None:
        """When the gang has written that file; None before it has."""
        with suppress(FileNotFoundError):
            return (self.folder / name).stat().st_mtime
        return None

    @property
    def ended(self) -> bool:
        return self.seen is not None and self.seen.finished

    @property
    def verdicts(self) -> list[Said]:
        return [each for each in self.said if each.reason in VERDICTS and each.sentence]

    def takes(self, seen: Snapshot, now: float) -> None:
        """A status of it."""
        self.seen = seen
        stuck = seen.condition("Stuck")
        holds = stuck is not None and stuck.status is True
        reason, sentence = (stuck.reason, stuck.message) if stuck is not None and holds else ("", "")
        last = next((each for each in reversed(self.said) if each.reason in ("", *VERDICTS)), None)
        if reason in VERDICTS and (last is None or last.sentence != sentence):
            self.said.append(Said(now, reason, sentence))
        elif reason not in VERDICTS and last is not None and last.sentence:
            self.said.append(Said(now, "", ""))
        if (seen.finished or seen.status.epoch) and not any(each.reason == seen.phase for each in self.said):
            self.said.append(Said(now, seen.phase, seen.message))


def manifest(gang: Gang, minute: float) -> str:
    """The experiment of a gang."""
    row = gang.row
    variables = {
        "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1", "GANG": str(gang.folder), "CHANNEL": str(row.channel),
        "PYTHONDONTWRITEBYTECODE": "", "TOKENIZERS_PARALLELISM": "false",
    }  # fmt: skip
    given = " ".join(f"{name}='{value}'" for name, value in variables.items())
    # what assist mounts stays first
    words = f"{row.python} -u {PROGRAMS / row.program} {row.way} {gang.victim} {gang.folder} {minute:g}"
    worker = {"count": row.size, "resources": {"cpus": 0.01, "memory": row.memory}}
    types: dict[str, Any] = {"worker": worker}
    if row.operator == "jobset":
        types = {"worker": {**worker, "count": 1, "completions": row.size, "parallelisms": row.size}}
    if row.operator == "kuberay":
        room = {"resources": worker["resources"]}
        types = {
            "Head": {**room, "rayStartParams": {"num-cpus": "0", "object-store-memory": "80000000"}},
            "Workers": [{"name": "one", "count": 1, **room, "rayStartParams": {"object-store-memory": "80000000"}}],
        }
    return experiment(
        gang.name,
        f'{given} PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}{ROOT}" {words}',
        operator=row.operator,
        assist=row.channel is Channel.ASSIST,
        progressEndpoint=row.channel is Channel.ENDPOINT,
        restartPolicy={"backoffLimit": 5 if row.framework == "ray" else 0},  # its nodes may end before the head serves
        types=types,
    )


class World:
    """The gangs of a play, by name, and the cluster that they are on."""

    def __init__(self, env: Environment, folder: Path, gangs: Sequence[Gang], minute: float) -> None:
        self.env, self.folder, self.minute = env, folder, minute
        self.gangs = {gang.name: gang for gang in gangs}
        self.changed = asyncio.Event()
        self._callers = ExitStack()

    async def start(self, beside: int = BESIDE) -> None:
        """Start all gangs, some at a time, and open the gate once they step."""
        waiting = list(self.gangs.values())
        while waiting:
            now, waiting = waiting[:beside], waiting[beside:]
            for gang in now:
                gang.folder.mkdir()
                self._lend_environment(gang)
                await self.env.client.submit(manifest(gang, self.minute))
            until = time.monotonic() + STARTS
            while time.monotonic() < until and not all(map(steps, now)):  # noqa: ASYNC110 - files, which programs write
                await asyncio.sleep(0.5)
            if slow := [gang.name for gang in now if not steps(gang)]:
                click.echo(f"no step after {STARTS:.0f} s: {', '.join(slow)}", err=True)
            click.echo(f"{len(self.gangs) - len(waiting)} of {len(self.gangs)} gangs have started", err=True)
        (self.folder / GATE).touch()

    def _lend_environment(self, gang: Gang) -> None:
        """Ray's programs are found by PATH."""
        if gang.row.framework == "ray" and (python := python_of("ray")):
            path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
            lent = Caller({**os.environ, "PATH": path}, ROOT)
            self._callers.enter_context(write_caller(self.env.home.callers, "default", gang.name, lent))

    async def watch(self) -> None:
        """Take in what is said of all gangs, until cancelled."""
        async for change in self.env.client.watch():
            if (gang := self.gangs.get(change.experiment.name)) is not None:
                gang.takes(change.experiment, time.time())
                if gang.row.again and gang.verdicts:
                    (gang.folder / AGAIN).touch()
                self.changed.set()

    async def look(self) -> None:
        """Look at what ``muster get`` prints of those that halted and of which no verdict was said, until cancelled."""
        options = ("--kubeconfig", self.env.cluster.kubeconfig)
        while True:
            for gang in self.gangs.values():
                if gang.since(HALTED) is None or gang.hint_at is not None or gang.verdicts:
                    continue
                done = await asyncio.to_thread(CliRunner().invoke, get, (gang.name, *options))
                for line in done.output.splitlines():
                    if gang.row.right_hint(gang.victim, line):
                        gang.hint, gang.hint_at = line.strip(" │"), time.time()
                        self.changed.set()
            await asyncio.sleep(LOOK)

    async def until(self, holds: Callable[[Gang], bool], gangs: Iterable[Gang], seconds: float) -> None:
        """Wait until that is true of all these gangs, and for so many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not all(map(holds, gangs)):
                    self.changed.clear()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self.changed.wait(), 1.0)

    async def settle(self, seconds: float) -> None:
        """Wait for the ends of runs whose verdict is over: jax ends a gang of which a rank was stopped for long."""
        over = [each for each in self.gangs.values() if each.verdicts and is_over(each) and not each.row.again]
        await self.until(lambda gang: gang.ended, over, seconds)

    async def ask(self) -> None:
        """Ask every gang of which a verdict stands for its stacks, as its verdict advises."""
        limit = asyncio.Semaphore(BESIDE)

        async def one(gang: Gang) -> None:
            async with limit:
                gang.asked_at = time.time()
                with suppress(ApiError):
                    await stacks_of(self.env.client, gang.name)

        await asyncio.gather(*(one(each) for each in self.gangs.values() if each.verdicts and each.said[-1].sentence))

    def close(self) -> None:
        """Take back what was lent."""
        self._callers.close()


def steps(gang: Gang) -> bool:
    """The gang steps, or is past that."""
    return gang.ended or any(gang.since(each) is not None for each in (STEPS, HALTED))


def was_said(gang: Gang) -> bool:
    """The verdict that is wanted, or the hint where none is; or nothing more will be said."""
    hinted = gang.hint_at is not None and gang.row.shown in (Shown.HINT, Shown.AT_WORK)
    return gang.ended or bool(gang.verdicts) or hinted


def is_over(gang: Gang) -> bool:
    """A verdict was said, and is over."""
    return gang.ended or any(not each.reason for each in gang.said)


def is_done(gang: Gang) -> bool:
    """A healthy gang has played its way."""
    return gang.ended or gang.since(DONE) is not None


@asynccontextmanager
async def world(folder: Path, rows: Sequence[Row], run: int = 0, minute: float = MINUTE) -> AsyncIterator[World]:
    """A cluster and a musterd for these rows, watched; its gangs are started by ``start``."""
    gangs = [Gang(row, row.victim(run), folder / row.name) for row in rows]
    async with environment(folder / "state", "--memory-only") as env:
        await env.start_daemon(*await endpoint(env, folder))
        made = World(env, folder, gangs, minute)
        tasks = [asyncio.create_task(made.watch(), name="watch"), asyncio.create_task(made.look(), name="look")]
        try:
            yield made
        finally:
            made.close()
            for task in tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
