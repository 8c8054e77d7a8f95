"""``make demo``, the first command of the README, ends well and shows what the README says of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.table import JAX_ON_CPU, ROOT

SHOWN = (
    "ended with exit code 137 (SIGKILL)",
    "from step",
    "Stuck=True",
    "missing rank 2 (missing-rank",
    "missing rank 2 (",
    "rank 1 is in next_batch (train.py:",
    "next_batch",
    "muster_experiment_ranks_expected{",
)
"""In this order: the killed rank, the gang that resumes, the rank that never calls, the labelled one, and the
one that hangs, with its calls."""
MOST_METRICS = 12
"""Series in the last part: of the gang that hangs, and counters of all. A scrape has three times as many."""


@pytest.mark.cluster
@pytest.mark.timeout(420)
def test_the_demo_names_the_killed_rank_resumes_and_names_the_missing_ones(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    environment |= {"MUSTER_HOME": str(tmp_path / "home"), **JAX_ON_CPU}
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    place = 0
    for words in SHOWN:
        found = done.stdout.find(words, place)
        assert found >= 0, f"{words}\n{done.stdout}"
        place = found + 1
    series = re.findall(r"^   muster_\S+ \S+$", done.stdout.partition("what Prometheus sees")[2], re.MULTILINE)
    assert 0 < len(series) <= MOST_METRICS, "\n".join(series)
