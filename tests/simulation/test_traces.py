"""No decision depends on the words of Muster: with other words, each plan has the same trace."""

import ast
import os
import subprocess
import sys
from typing import Final

from msgspec.structs import replace

from tests.builders import record
from tests.simulation.rewording import Rewording, reworded
from tests.simulation.traces import _with_other_words, _wordless

PLANS: Final = (
    "missing-deadline:n=4",
    "image-not-pulled:n=4",
    "image-not-pulled:n=4:failover=12",
    "unschedulable-restarts:n=4",
    "hang-deadline:n=4:failover=9",
)
"""What the gang is stuck by is the cause of its end; an obstacle that lasts; failures that are charged; a hang."""


def traces(*more: str) -> str:
    chosen = [word for line in PLANS for word in ("--plan", line)]
    command = [sys.executable, "-m", "tests.simulation.traces", "--processes", "1", *chosen, *more]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_a_plan_has_the_same_trace_with_other_words() -> None:
    found = traces("--reworded")
    assert found == traces()
    assert [line.split()[-1] for line in found.splitlines()] == list(PLANS)


def test_other_words_have_the_same_names() -> None:
    assert reworded("the coordinator of {name} did not serve") == "THE COORDINATOR OF {name} DID NOT SERVE"


def test_sentences_are_reworded_and_docstrings_and_patterns_are_not() -> None:
    source = '"""A module."""\nX = re.compile("a b")\nY = f"rank {X} failed"\nZ = "it is"\n'
    changed = ast.unparse(Rewording().visit(ast.parse(source)))
    assert "A module." in changed
    assert "'a b'" in changed
    assert "RANK {X} FAILED" in changed
    assert "IT IS" in changed


def test_a_record_in_other_words_has_the_same_facts() -> None:
    kept = record(message="it waits", reason="Queued")
    assert _with_other_words(kept) == replace(kept, message="IT WAITS")
    assert _wordless(kept.to_object()) == _wordless(replace(kept, message="").to_object())
