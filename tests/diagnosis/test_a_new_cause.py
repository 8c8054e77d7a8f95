"""A cause is one row: planted ones are found in every place that speaks of causes, with no other edit."""

import json
import subprocess
import sys
from pathlib import Path
from textwrap import indent
from typing import Any, Final

import pytest

pytestmark = pytest.mark.slow

RECIPE: Final = Path(__file__).parents[2] / "docs" / "development.md"
BY_REASON: Final = indent(
    "DISK_FULL" + RECIPE.read_text(encoding="utf-8").partition("```python\nDISK_FULL")[2].partition("```")[0], "    "
)
"""The row of docs/development.md: it is told by the reason for which a container waits, and counted by itself."""

BY_MESSAGE: Final = """
    DISK_FILLED = MissingCause(
        "DiskFilled",
        "Its program has filled the disk.",
        "let it write less: muster logs NAME -n NAMESPACE --rank RANK",
        stages=(Stage.CRASHED,),
        when=lambda _, pod: pod.exit is not None and "No space left on device" in pod.exit.message,
        what="filled the disk",
        runbook="MusterRankMissing",
    )
"""
"""One that is read from the last words of a program, and counted as that of its stage."""


def planted(rows: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.diagnosis.planted"]
    return subprocess.run(command, input=rows, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    done = planted(BY_REASON + BY_MESSAGE)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_sentence_of_the_status_has_it_and_it_is_stuck_after_its_own_patience(shown: dict[str, Any]) -> None:
    before, after = shown["status"]
    for rank in (1, 2):
        assert f"rank {rank}: the disk of node n{rank} is full (train-worker-0-{rank}" in after["message"]
    assert before["message"] == after["message"]
    assert (before["stuck"], after["stuck"]) == ("", "DiskFull")


def test_the_metric_counts_it_in_its_closed_set_and_one_of_words_as_a_wider_one(shown: dict[str, Any]) -> None:
    assert ("DiskFull" in shown["counted"], "DiskFilled" in shown["counted"]) == (True, False)
    assert set(shown["samples"]) == set(shown["counted"])
    assert {cause: count for cause, count in shown["samples"].items() if count} == {"DiskFull": 2.0}


def test_the_page_has_it_with_its_next_step_and_its_runbook(shown: dict[str, Any]) -> None:
    assert [(each["cause"], each["sentence"], each["next"]) for each in shown["json"]] == [
        ("DiskFull", "rank 1: the disk of node n1 is full", "free the disk: kubectl describe node n1"),
        ("DiskFull", "rank 2: the disk of node n2 is full", "free the disk: kubectl describe node n2"),
        ("DiskFilled", "rank 3: filled the disk", "let it write less: muster logs train -n team --rank 3"),
    ]
    assert shown["why"]["3"].endswith(", filled the disk)")
    for each in shown["json"]:
        assert each["sentence"] in shown["html"]
        assert each["next"] in shown["html"]
    linked = shown["html"].count("http://books/refusals.md#musterunschedulable")
    assert linked == 3, "two findings, and the condition Stuck"
    assert "http://books/ranks.md#musterrankmissing" in shown["html"]
    assert shown["runbook"] == "MusterUnschedulable"


def test_explain_has_it_with_evidence_and_next_step(shown: dict[str, Any]) -> None:
    found = {each["ranks"][0]: each for each in shown["explain"]}
    assert [found[rank]["cause"] for rank in (1, 2, 3)] == ["DiskFull", "DiskFull", "DiskFilled"]
    assert found[1]["evidence"].endswith("on node n1: Pending: DiskFull, no room for its layers")
    assert found[3]["evidence"].endswith('on node n3: last line "OSError: [Errno 28] No space left on device"')
    for each in found.values():
        assert f"  {each['sentence']}  ({each['cause']})" in shown["explained"]
        assert f"    next: {each['nextStep']}" in shown["explained"]


def test_the_page_of_the_docs_has_its_heading_and_its_step(shown: dict[str, Any]) -> None:
    assert "### `DiskFull`\n\nThe disk of its node is full. **Do:** free the disk" in shown["docs"]
    assert "### `DiskFilled`\n\n(`Crashed`) Its program has filled the disk. **Do:** let it write less" in shown["docs"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('reasons=("DiskFull",),', "", "one cause of the stage CANNOT_START has neither reasons nor a condition"),
        ("(Stage.CANNOT_START,)", "(Stage.CANNOT_START, Stage.STARTING), when=is_kept", "it is counted as Starting"),
        ('reasons=("DiskFull",),', 'reasons=("x",), when=is_kept,', "DiskFull has reasons and a condition"),
        ('reasons=("DiskFull",),', 'reasons=("x",), counted_as="Hung",', "is counted as Hung, which is not counted"),
        ('reasons=("DiskFull",),', 'reasons=("ErrImagePull",),', "ErrImagePull of the stage CANNOT_START"),
        ('"DiskFull",', '"ImagePull",', "two causes are named ImagePull"),
    ],
)
def test_a_row_that_breaks_a_rule_of_the_table_is_found(old: str, new: str, problem: str) -> None:
    done = planted(BY_REASON.replace(old, new, 1))
    assert done.returncode != 0
    assert problem in done.stderr
