"""Each row of the cores of the real worlds is a situation."""

import os
import subprocess
import sys

import pytest

from deploy.image.locks import ROOT
from tests.real.core import CORE
from tests.real.ground import VARIABLE
from tests.real_node.core import CORE as CORE_ON_NODES
from tests.real_node.ground import NODES_VARIABLE


@pytest.mark.drift
def test_every_row_of_the_cores_is_a_situation_that_the_mark_chooses() -> None:
    cores = {"tests/real": CORE, "tests/real_node": CORE_ON_NODES}
    command = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", "-m", "core", *cores]
    environment = {**os.environ, VARIABLE: os.devnull, NODES_VARIABLE: os.devnull}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    chosen = {line for line in done.stdout.splitlines() if "::" in line}
    rows = {f"{tests}/situations/{name}" for tests, core in cores.items() for names in core.values() for name in names}
    assert chosen == rows, done.stdout[-2000:]
