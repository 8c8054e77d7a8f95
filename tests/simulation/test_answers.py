"""What is the same to whoever wrote makes the same run."""

from dataclasses import replace
from itertools import groupby

import pytest

from tests.simulation.oracles.final import play
from tests.simulation.plans.answers import NAMED, WAYS, told_apart
from tests.simulation.plans.places import recorded
from tests.simulation.plans.plan import Fault, Plan
from tests.simulation.runner import reference

SCENARIO, SIZE = "never-arrives-restarts", 4
"""It has every kind of write, and a story of which two lines are told at once."""


def run(fault: Fault) -> str:
    return recorded(play(Plan(SCENARIO, SIZE, (fault,)))).digest


def writes() -> dict[tuple[str, str], list[int]]:
    """The writes of each kind, by their numbers."""
    steps = recorded(reference(SCENARIO, SIZE)).writes
    kinds = sorted(((step.kind, step.resource), number) for number, step in enumerate(steps, 1))
    return {kind: [number for _, number in each] for kind, each in groupby(kinds, key=lambda pair: pair[0])}


def test_every_kind_of_write_is_known() -> None:
    assert set(writes()) == set(NAMED)


@pytest.mark.parametrize("kind", NAMED)
def test_an_answer_that_is_left_out_makes_the_run_of_one_that_is_not(kind: tuple[str, str]) -> None:
    steps, numbers = recorded(reference(SCENARIO, SIZE)).writes, writes()[kind]
    one_of_each = {tuple(told_apart(steps, at)): at for at in numbers}
    for at in {numbers[0], numbers[len(numbers) // 2], *one_of_each.values()}:
        apart = set(told_apart(steps, at))
        stand = {run(Fault(how, at, why)) for how, why in apart}
        for how, why in set(WAYS) - apart:
            assert run(Fault(how, at, why)) in stand, f"{how}={at}/{why}"


def test_a_word_about_an_event_matters_only_where_a_line_follows() -> None:
    steps, numbers = recorded(reference(SCENARIO, SIZE)).writes, writes()["POST", "events"]
    assert {len(told_apart(steps, at)) for at in numbers} == {2, 5}


def test_of_a_write_that_is_not_known_every_answer_is_tried() -> None:
    unknown = replace(recorded(reference(SCENARIO, SIZE)).writes[0], resource="leases", kind="PATCH")
    assert told_apart([unknown], 1) == list(WAYS)
