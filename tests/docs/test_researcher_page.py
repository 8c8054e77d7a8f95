"""Every command of docs/researcher.md is executed, in order, against a local cluster with real JAX processes."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import blocks, script, unmarked, write_files

PAGE = Path(__file__).parents[2] / "docs" / "researcher.md"
BLOCKS = list(blocks(PAGE))


@pytest.mark.drift
def test_every_block_is_executed_or_a_file_or_says_why_not() -> None:
    assert unmarked(BLOCKS) == []
    assert len(script(BLOCKS).splitlines()) > 25
    assert {block.file for block in BLOCKS} >= {"train.py", "plain.py", "manifest.yaml", "sweep.py"}


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a shell in which ``muster`` works on a local cluster of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "NO_COLOR")}
    environment |= {"MUSTER_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    work = tmp_path / "work"
    work.mkdir()
    up = subprocess.Popen(["muster", "local", "up"], env=environment, cwd=work, stdout=subprocess.PIPE, text=True)
    try:
        assert up.stdout is not None
        assert "kubeconfig" in up.stdout.readline()
        yield environment
    finally:
        up.terminate()
        up.communicate(timeout=60)


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_every_command_of_the_page_works(shell: dict[str, str], tmp_path: Path) -> None:
    work = tmp_path / "work"
    write_files(BLOCKS, work)
    done = subprocess.run(
        ["bash", "-c", script(BLOCKS)], env=shell, cwd=work, capture_output=True, text=True, timeout=500, check=False
    )
    shown = f"{done.stdout}\n--- standard error\n{done.stderr}"
    assert done.returncode == 0, shown
    for words in (
        r"rank 0 \| process 0 of 2 is done",
        r"rank 0 \| process 0 of 2$",
        r"failed with exit status 1",
        r"daemon: ready at",
        r"^rank 1 \| process 1 of 2 is done",
        r"^20\d\d-\S+Z process 1 of 2 is done",
        r"again +Succeeded",
        r"sweep-1 Succeeded",
        r"experiment default/sweep-1 does not exist",
        r"cancelled",
    ):
        assert re.search(words, shown, re.MULTILINE), f"{words}\n{shown}"
