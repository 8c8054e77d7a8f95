"""Errors of one class make the same run."""

from dataclasses import replace
from itertools import groupby

import pytest

from tests.simulation.oracles.final import play
from tests.simulation.plans.error_classes import FAILURES, HANDLED, distinct
from tests.simulation.plans.fault_points import recorded
from tests.simulation.plans.plan import Fault, Plan
from tests.simulation.runner import reference

SCENARIO, SIZE = "never-arrives-restarts", 4
"""It has every kind of write, and two Events of one story follow each other closely."""


def run(fault: Fault) -> str:
    return recorded(play(Plan(SCENARIO, SIZE, (fault,)))).digest


def writes() -> dict[tuple[str, str], list[int]]:
    """The writes of each kind, by number."""
    steps = recorded(reference(SCENARIO, SIZE)).writes
    kinds = sorted(((step.kind, step.resource), number) for number, step in enumerate(steps, 1))
    return {kind: [number for _, number in each] for kind, each in groupby(kinds, key=lambda pair: pair[0])}


def test_every_kind_of_write_has_its_error_classes() -> None:
    assert set(writes()) == set(HANDLED)


@pytest.mark.parametrize("kind", HANDLED)
def test_an_error_that_is_left_out_makes_the_run_of_one_that_is_played(kind: tuple[str, str]) -> None:
    steps, numbers = recorded(reference(SCENARIO, SIZE)).writes, writes()[kind]
    one_of_each = {tuple(distinct(steps, at)): at for at in numbers}
    for at in {numbers[0], numbers[len(numbers) // 2], *one_of_each.values()}:
        apart = set(distinct(steps, at))
        stand = {run(Fault(how, at, why)) for how, why in apart}
        for how, why in set(FAILURES) - apart:
            assert run(Fault(how, at, why)) in stand, f"{how}={at}/{why}"


def test_errors_on_an_event_differ_only_where_another_event_follows() -> None:
    steps, numbers = recorded(reference(SCENARIO, SIZE)).writes, writes()["POST", "events"]
    assert {len(distinct(steps, at)) for at in numbers} == {2, 5}


def test_every_error_is_played_at_an_unknown_kind_of_write() -> None:
    unknown = replace(recorded(reference(SCENARIO, SIZE)).writes[0], resource="leases", kind="PATCH")
    assert distinct([unknown], 1) == list(FAILURES)
