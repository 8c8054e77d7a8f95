"""The story of the smoke test: all gangs run at once, a rank is killed, and then musterd, and all end."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from muster.client import Snapshot
from muster.local.home import Caller, write_caller
from tests.e2e.environment import ROOT, Environment, children_of, environment
from tests.smoke.gangs import GANGS, KILLED, KILLED_AFTER, Gang

ONE_IS_MISSING = re.compile(r'muster_experiment_ranks_missing_by_cause\{.*experiment="late".*\} 1\.0$')
PATIENCE = 1_500.0
"""Seconds for what comes true within one when the machine is idle."""


@dataclass(frozen=True, slots=True)
class Named:
    """What is said of the gang one of whose ranks never calls."""

    seen: Snapshot
    get: str
    explain: str
    metrics: Sequence[str]


@dataclass(slots=True)
class Played:
    """What was seen."""

    held: dict[str, Snapshot] = field(default_factory=dict)
    """The gangs that waited when musterd was killed, or had failed by then."""
    ended: dict[str, Snapshot] = field(default_factory=dict)
    printed: dict[str, list[str]] = field(default_factory=dict)
    named: list[Named] = field(default_factory=list)
    """By the musterd that is killed, and by the one after it."""
    restarting: Snapshot | None = None
    """The gang with the killed rank when musterd was killed."""
    run: "subprocess.CompletedProcess[str] | None" = None
    """``muster run``, with a cluster of its own beside all that."""


async def play(folder: Path) -> Played:
    """Play it with the gangs whose frameworks are installed."""
    gangs = [gang for gang in GANGS if not gang.skipped]
    names = [gang.name for gang in gangs]
    played = Played()
    async with environment(folder / "home", "--memory-only") as env, asyncio.TaskGroup() as group:
        running = group.create_task(asyncio.to_thread(muster_run, folder / "run"), name="muster-run")
        await env.start_daemon()
        with ExitStack() as callers:
            for gang in gangs:
                caller = Caller({**os.environ, "PATH": gang.search_path}, ROOT)
                callers.enter_context(write_caller(env.home.callers, "default", gang.name, caller))
                await env.client.submit(gang.manifest(folder))
            held = await asyncio.gather(*(until_held(env, gang) for gang in gangs))
            played.held = dict(zip(names, held, strict=True))
            if "late" in names:
                played.named.append(await named(env))
            if "killed" in names:
                played.restarting = await kill_a_rank(env)
            await env.kill_daemon()
            for name in names:
                (folder / name / "go").touch()
            await env.start_daemon()
            if "late" in names:
                played.named.append(await named(env))
                await env.call("cancel", "late")
            ended = await asyncio.gather(*(env.until(name, lambda seen: seen.finished, PATIENCE) for name in names))
            played.ended = dict(zip(names, ended, strict=True))
            for name in names:
                played.printed[name] = [line.text async for line in env.client.logs(name)]
        played.run = await running
    return played


async def until_held(env: Environment, gang: Gang) -> Snapshot:
    """The gang once it has met and waits, or is known to be stuck, or has ended before that."""
    if gang.name == "late":
        return await env.until(gang.name, lambda seen: stuck(seen) or seen.finished, PATIENCE)
    wanted = KILLED_AFTER if gang.name == "killed" else "met"
    async with asyncio.timeout(PATIENCE):
        async for line in env.client.logs(gang.name, follow=True):
            if line.text == wanted:
                break
    return await env.until(gang.name, lambda seen: seen.phase == "Running" or seen.finished, PATIENCE)


def stuck(seen: Snapshot) -> bool:
    """Two of its ranks have come, and it waits for the third."""
    return seen.holds("Stuck") and seen.status.roll is not None and seen.status.roll.arrived == 2


async def named(env: Environment) -> Named:
    """What status, commands and metrics say of the rank that never calls, once this musterd counts it as missing."""
    metrics: list[str] = []
    async with asyncio.timeout(PATIENCE):
        while not metrics:
            await asyncio.sleep(0.5)
            with contextlib.suppress(OSError):  # it starts
                metrics = [line for line in await env.metrics() if ONE_IS_MISSING.match(line)]
    seen = await env.until("late", stuck, PATIENCE)
    return Named(seen, await env.call("get", "late"), await env.call("explain", "late"), metrics)


async def kill_a_rank(env: Environment) -> Snapshot:
    """Kill every process of that rank; the experiment once its gang restarts."""
    (process,) = [each.process for each in (await env.client.explain("killed")).members if each.rank == KILLED]
    assert process is not None
    for pid in (*reversed(children_of(process)), process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return await env.until("killed", lambda seen: seen.status.epoch == 1 or seen.finished, PATIENCE)


def muster_run(folder: Path) -> "subprocess.CompletedProcess[str]":
    """What a newcomer enters first."""
    folder.mkdir()
    program = [sys.executable, "-c", "import os; print('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])"]
    command = [sys.executable, "-P", "-m", "muster.cli", "run", "-n", "2", "--operator", "pytorch", "--", *program]
    variables = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "PYTHONPATH")}
    variables["MUSTER_HOME"] = str(folder / "home")
    return subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, check=False)
