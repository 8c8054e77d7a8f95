"""examples/jax/train.py as one process: it trains, and goes on from its checkpoint."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from muster.cli.processes.stack import free_port

PROGRAM = Path(__file__).parents[2] / "examples" / "jax" / "train.py"


def train(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{free_port()}",
        "JAXOPERATOR_NUM_PROCESSES": "1",
        "JAXOPERATOR_PROCESS_ID": "0",
    }
    command = [sys.executable, str(PROGRAM), "--checkpoints", str(folder), "--pace", "0", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("steps", [4, 2])
def test_a_gang_that_starts_at_or_after_its_last_step_succeeds(tmp_path: Path, steps: int) -> None:
    pytest.importorskip("jax")
    first = train(tmp_path, "--steps", "4", "--every", "4")
    assert first.returncode == 0, first.stderr
    again = train(tmp_path, "--steps", str(steps), "--every", "4")
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines() == ["1 processes, 1 devices, from step 4", "done"]
