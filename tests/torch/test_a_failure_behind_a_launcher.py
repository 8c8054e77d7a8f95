"""Behind real launchers of the current PyTorch: what the kubelet keeps has the error of the program."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from muster.api.last_words import Child
from muster.api.values.termination_message import Words, words
from muster.assist import CODE, FILE
from tests.frameworks.interpreters import CURRENT_TORCH, python_of, reason_without

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(reason_without(CURRENT_TORCH)), reason=reason_without(CURRENT_TORCH)),
]
RAISES = """
import time
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
def step():
    raise RuntimeError("shard 17 is empty")
if dist.get_rank() == dist.get_world_size() - 1:
    step()
time.sleep(600)
"""
ENDS = """
import os, sys, time
if int(os.environ["RANK"]) == int(os.environ["WORLD_SIZE"]) - 1:
    {how}
time.sleep(600)
"""
"""Knows nothing of PyTorch, which would take most of its time."""
TORCHRUN = ("torch.distributed.run", "--nproc-per-node=2")
ACCELERATE = ("accelerate.commands.accelerate_cli", "launch", "--cpu", "--num_processes=1")


def last_words(folder: Path, program: str, *module: str) -> Words:
    """What is known of the end of a launcher that runs the program with ``spec.assist``."""
    python = python_of(CURRENT_TORCH)
    assert python is not None
    mounted = folder / "mounted"
    mounted.mkdir()
    (mounted / FILE).write_text(CODE)
    for each in ("torch_recorder.py", "place_watch.py"):
        (mounted / each).touch()
    (folder / "train.py").write_text(program)
    alone = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "RANK": "0", "WORLD_SIZE": "1"}
    done = subprocess.run(
        [python, "-m", *module, "train.py"],
        env={**os.environ, "PYTHONPATH": str(mounted), **({} if module == TORCHRUN else alone)},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    return words(done.stdout[-2_048:])


@pytest.mark.parametrize("launcher", [TORCHRUN, ACCELERATE], ids=["torchrun", "accelerate launch"])
def test_the_programs_exception_is_the_reason(tmp_path: Path, launcher: tuple[str, ...]) -> None:
    said = last_words(tmp_path, RAISES, *launcher)
    assert (said.text, said.explains) == ("RuntimeError: shard 17 is empty", True)
    assert said.raised_at == "train.py:7 in step"


@pytest.mark.parametrize(("how", "code"), [("is killed", -signal.SIGKILL), ("exits", 3)])
@pytest.mark.parametrize(("launcher", "rank"), [(TORCHRUN, 1), (ACCELERATE, -1)], ids=["torchrun", "accelerate launch"])
def test_the_end_of_the_process_is_known(
    tmp_path: Path, launcher: tuple[str, ...], rank: int, how: str, code: int
) -> None:
    end = {"is killed": "os.kill(os.getpid(), 9)", "exits": "sys.exit(3)"}[how]
    said = last_words(tmp_path, ENDS.format(how=end), *launcher)
    assert (said.child, said.explains, said.last_line) == (Child(code, rank), False, "")
