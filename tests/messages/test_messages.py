"""The golden file has every sentence of a status, its conditions and Events, and of findings, once, with an example.

A changed sentence is a changed line there, so that its diff is read. ``docs/reasons.md`` has what each reason means.
"""

from pathlib import Path

import pytest

from tests.messages.collected import NAMES, PLANS, Text, everything, golden, of_plan, of_situations, templates
from tests.simulation.plans.plan import Plan

pytestmark = pytest.mark.xdist_group("messages")  # each plan is played once
GOLDEN = Path(__file__).with_name("messages.golden").read_text(encoding="utf-8")
CLAUSES = templates(GOLDEN)
WRITE = "python -m tests.messages > tests/messages/messages.golden"


@pytest.fixture(scope="module")
def found() -> dict[str, set[Text]]:
    """The sentences of each plan, as the tests before have found them."""
    return {}


@pytest.mark.drift
@pytest.mark.sentences
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.scenario)
def test_each_clause_of_a_plan_is_in_the_golden_file(plan: Plan, found: dict[str, set[Text]]) -> None:
    found[plan.scenario] = of_plan(plan)
    now = {each for text in found[plan.scenario] for each in text.templates()}
    assert now <= CLAUSES, WRITE


@pytest.mark.drift
@pytest.mark.sentences
def test_each_clause_of_a_situation_is_in_the_golden_file() -> None:
    assert {each for text in of_situations() for each in text.templates()} <= CLAUSES, WRITE


@pytest.mark.drift
@pytest.mark.cpu(400)  # alone it plays 202 plans, in 43 s of CPU on an idle machine
def test_the_golden_file_has_every_sentence_and_no_other(found: dict[str, set[Text]]) -> None:
    assert golden(everything(found)) == GOLDEN, WRITE


def test_a_sentence_without_a_new_clause_is_not_kept() -> None:
    first = Text("status", "Error", "rank 1 (run-worker-0-1-abcde) ended with exit code 1 on node node-1")
    same = Text("status", "Error", "rank 22 (run-worker-0-22-x7k2p) ended with exit code 137 (SIGKILL) on node node-4")
    more = Text("status", "Error", f"{first.text}; it is not run again")
    other = Text("finding", "Lost", "rank 1: its pod is gone")
    assert golden([same, more, first]) == golden([more, first]) != golden([first])
    kept = golden([more, first, other]).splitlines()
    assert [line for line in kept if " | " in line] == [
        f"Error | {first.text}",
        f"Error | {more.text}",
        f"Lost | {other.text}",
    ]


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("serving at worker-0-0-rdh7f.run:1234", "serving at ADDRESS"),
        ("rank 3 (w-1, run-w-0-1-4d2bd, Pending)", "rank # (POD, Pending)"),
        ("no step since 13:47:14Z", "no step since TIME"),
    ],
)
def test_names_times_and_numbers_are_not_of_a_template(text: str, template: str) -> None:
    assert list(Text("status", "", text).templates()) == [template]
    assert NAMES
