"""A gang whose program knows nothing of Muster joins by ``spec.assist``, and ``muster stacks`` says who does what."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from muster.cli.exits import FAILED, PARTIAL, SUCCEEDED
from muster.cli.processes.stack import module
from tests.e2e.environment import Environment, environment, experiment
from tests.processes.forked import run

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

PROGRAM = """
import os, sys, threading, time
import jax

jax.distributed.initialize()

def all_reduce():
    while True:
        time.sleep(0.05)

def next_batch():
    threading.Event().wait()

def loader():
    while True:
        time.sleep(0.05)

threading.Thread(target=loader).start()  # keeps a process that raises
print("joined", jax.process_index(), jax.process_count(), flush=True)
if jax.process_index() == 1:
    if os.path.exists(sys.argv[1]):
        raise ValueError("loss is NaN")
    next_batch()
else:
    all_reduce()
"""
SIZE = 3


def trained(name: str, folder: Path) -> str:
    """The experiment whose three members run the program, with assist."""
    command = f"JAX_PLATFORMS=cpu {sys.executable} -u {folder / 'train.py'} {folder / 'raise'}"
    return experiment(name, command, count=SIZE, assist=True, restartPolicy={"backoffLimit": 0})


async def stacks(env: Environment, *words: str) -> tuple[int, list[str], list[str]]:
    """Exit status, output and errors of ``muster stacks``."""
    program = module("muster.cli", "stacks", *words, "--kubeconfig", env.cluster.kubeconfig)
    done = await asyncio.to_thread(run, program)
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


async def joined(env: Environment, name: str) -> None:
    """Wait until every rank has printed that it joined."""
    ranks = set()
    async with asyncio.timeout(90):
        async for line in env.client.logs(name, follow=True):
            if line.text.startswith("joined"):
                assert line.text == f"joined {line.rank} {SIZE}"
                ranks.add(line.rank)
            if len(ranks) == SIZE:
                return


async def test_a_bare_initialize_joins_and_the_odd_rank_is_named(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    (tmp_path / "train.py").write_text(PROGRAM)
    async with environment(tmp_path / "home") as env:
        await env.start_daemon()
        await env.client.submit(trained("helped", tmp_path))
        await joined(env, "helped")

        code, out, err = await stacks(env, "helped")
        assert (code, err) == (SUCCEEDED, [])
        most, odd, *frames = out
        assert most.startswith("2 ranks (0, 2) in all_reduce at train.py:")
        assert odd.startswith("rank 1 in wait at train.py:"), (
            "the function of the program's line is the call it waits in"
        )
        assert any("next_batch" in frame for frame in frames)

        code, out, _ = await stacks(env, "helped", "--rank", "1", "--raw")
        assert (code, sum("most recent call first" in line for line in out)) == (SUCCEEDED, 1)
        code, out, _ = await stacks(env, "helped", "-o", "json")
        assert [group["ranks"] for group in json.loads("\n".join(out))["groups"]] == [[0, 2], [1]]
        assert not [line async for line in env.client.logs("helped", [1]) if "File" in line.text], "not in the log"
        assert (await stacks(env, "helped", "--rank", "9"))[0] == FAILED

        (tmp_path / "raise").touch()
        await env.client.submit(trained("raises", tmp_path))
        ended = await env.until("raises", lambda seen: seen.finished)
        assert ended.status.cause is not None
        assert (ended.status.cause.rank, ended.status.cause.exit_code) == (1, 1)


async def test_ranks_without_a_way_are_named_with_the_reason(tmp_path: Path) -> None:
    async with environment(tmp_path / "home") as env:
        await env.start_daemon()
        sleeps = f"{sys.executable} -c 'import time; time.sleep(600)'"
        await env.client.submit(experiment("plain", sleeps, operator="xgboost", count=SIZE))
        await env.until("plain", lambda seen: seen.status.ready == SIZE)
        code, out, err = await stacks(env, "plain")
        assert (code, out) == (FAILED, [])
        assert len(err) == 1
        assert err[0].startswith("3 ranks (0-2): no py-spy in the image and spec.assist is off: set spec.assist")

        command = f'[ "$RANK" = 2 ] && export MUSTER_ASSIST=off\n{sleeps}'
        await env.client.submit(experiment("some", command, operator="xgboost", count=SIZE, assist=True))
        await env.until("some", lambda seen: seen.status.ready == SIZE)
        code, out, err = await stacks(env, "some")
        assert (code, out[0]) == (PARTIAL, "2 ranks (0-1) in <module> at <string>:1")
        assert err[0].startswith("rank 2: no py-spy in the image, and its process runs without spec.assist")
