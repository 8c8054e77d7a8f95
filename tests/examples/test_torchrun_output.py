"""What docs/why.md quotes of torchrun is what the real one prints, one process a node."""

import os
import re
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.docs.commands import ROOT
from tests.frameworks.interpreters import CURRENT_TORCH, python_of, reason_without

PROGRAM = """
import datetime, os, sys, time
import torch.distributed
rank = int(os.environ["RANK"])
if rank == 2:
    time.sleep(600)
torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
if rank == 1:
    sys.exit(7)
torch.distributed.barrier()
"""
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(180),
    pytest.mark.skipif(python_of(CURRENT_TORCH) is None, reason=reason_without(CURRENT_TORCH)),
]


def quotes(row: str) -> list[str]:
    """What the page quotes of torchrun in a row, as patterns: processes and timeouts are others each time."""
    page = (ROOT / "docs/why.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^\| {row}.*torchrun: (.*?) \| ", page, re.MULTILINE)
    return [re.sub(r"(?<=pid:\\ )\d+|\d+(?=ms)", r"\\d+", re.escape(each)) for each in re.findall("`(.*?)`", found)]


def printed(tmp_path: Path, nodes: int) -> list[str]:
    """What the torchrun of each of the first two nodes prints until it ends."""
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--nnodes", str(nodes), "--master-addr", "127.0.0.1", "--master-port", str(port)]
    command = [str(python_of(CURRENT_TORCH)), "-m", "torch.distributed.run", *options]
    logs = [tmp_path / f"{node}.log" for node in range(nodes)]
    with ExitStack() as stack:
        agents = [
            subprocess.Popen(
                [*command, "--node-rank", str(node), str(program)],
                env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
                stdout=stack.enter_context(log.open("w")),
                stderr=subprocess.STDOUT,
            )
            for node, log in enumerate(logs)
        ]
        for agent in agents:
            stack.callback(agent.wait)
            stack.callback(agent.terminate)  # its process ends with it
        assert [each.wait() for each in agents[:2]] == [1, 1]
    return [log.read_text() for log in logs[:2]]


def root_cause(text: str) -> str:
    """The rank that the torchrun of a node calls the root cause."""
    found = re.search(r"Root Cause \(first observed failure\):.*?rank +: (\d+)", text, re.DOTALL)
    return found[1] if found else text


def test_the_node_of_a_rank_that_exits_names_it_and_the_other_node_its_own(tmp_path: Path) -> None:
    other, own = printed(tmp_path, 2)
    (rank, code) = quotes("One rank of two exits with code 7")
    assert re.search(rf"{rank}\s+{code}", own), own
    assert [root_cause(other), root_cause(own)] == ["0", "1"]


def test_of_a_rank_that_never_calls_each_node_names_its_own(tmp_path: Path) -> None:
    texts = printed(tmp_path, 3)
    (wait,) = quotes("One rank never calls")
    assert [bool(re.search(wait, text)) for text in texts] == [True, True], texts
    assert [root_cause(text) for text in texts] == ["0", "1"]
