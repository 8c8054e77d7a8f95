"""Every command of docs/researcher.md is executed, in order, against a local cluster with real JAX processes."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import Shell, blocks, script, unmarked, write_files

PAGE = Path(__file__).parents[2] / "docs" / "researcher.md"
BLOCKS = list(blocks(PAGE))


@pytest.mark.drift
def test_every_block_is_executed_or_a_file_or_says_why_not() -> None:
    assert unmarked(BLOCKS) == []
    assert len(script(BLOCKS).splitlines()) > 25
    assert {block.file for block in BLOCKS} >= {"train.py", "plain.py", "manifest.yaml", "sweep.py"}


@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.xdist_group("pages")
def test_every_command_of_the_page_works(shell: Shell) -> None:
    write_files(BLOCKS, shell.folder)
    shown = shell.run(script(BLOCKS))
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
