"""A forked program is one that was executed: the same arguments, streams and ends."""

import json
import os
import select
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muster.cli.processes.stack import module
from tests.processes.forked import Forked, start_child

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

START = (subprocess.Popen, Forked)
"""Executed, and forked."""
Start = Callable[..., "subprocess.Popen[str]"]


def mirror(start: Start, how: str, folder: Path, **options: Any) -> "subprocess.Popen[str]":
    """Start the program in the folder, with two variables."""
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2]), "LANG": "C.UTF-8"}
    pipe = subprocess.PIPE
    streams = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True}
    return start(module("tests.processes.mirror", how, "a  b"), cwd=folder, env=variables, **streams, **options)


@pytest.mark.parametrize("session", [False, True])
def test_a_forked_program_finds_what_an_executed_one_finds(tmp_path: Path, session: bool) -> None:
    found = []
    for start in START:
        with mirror(start, "exits", tmp_path, start_new_session=session) as process:
            out, _ = process.communicate("words")
            found.append(json.loads(out))
    executed, forked = found
    assert executed.pop("random") != forked.pop("random")
    requests = set(forked.pop("descriptors")) - set(executed.pop("descriptors"))
    assert len(requests) == 1, "by which a command asks for its own children"
    assert forked == executed


@pytest.mark.parametrize("how", ["succeeds", "exits", "says", "raises", "is interrupted"])
def test_a_forked_program_ends_as_an_executed_one(tmp_path: Path, how: str) -> None:
    ends = []
    for start in START:
        process = mirror(start, how, tmp_path)
        _, said = process.communicate("")
        ends.append((process.returncode, said.splitlines()[-1:]))
    assert ends[0] == ends[1]


def test_a_forked_program_is_found_by_its_arguments_and_killed(tmp_path: Path) -> None:
    with mirror(Forked, "waits", tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.readline()
        assert process.poll() is None
        words = Path(f"/proc/{process.pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        assert words == [os.fsencode(word) for word in module("tests.processes.mirror", "waits", "a  b")]
        process.kill()
        assert process.wait(30) == -signal.SIGKILL


def test_a_forked_program_ends_with_the_one_who_started_it(tmp_path: Path) -> None:
    process = mirror(Forked, "waits", tmp_path)
    ended = os.pidfd_open(process.pid)
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    process.returncode = 0  # nobody asks for its end
    del process
    assert select.select([ended], [], [], 30)[0]
    os.close(ended)


async def test_a_forked_child_announces_itself_and_is_stopped(tmp_path: Path) -> None:
    child = await start_child("mirror", module("tests.processes.mirror", "waits"), tmp_path / "log", announces=True)
    assert json.loads(await child.announcement(60))["leads a session"]
    assert child.process.returncode is None
    await child.stop()
    assert child.process.returncode == -signal.SIGTERM
