"""CI's share of the plans: no cell is left without one."""

from functools import cache

import pytest

from tests.scenarios.catalogue import scenarios
from tests.scenarios.operators import OPERATORS
from tests.simulation import runner
from tests.simulation.coverage import actors
from tests.simulation.plans.families import FAMILIES, gangs, plans
from tests.simulation.plans.plan import KINDS, Plan, parse
from tests.simulation.plans.share import Share

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("share"),  # one process makes the share for all of them
    pytest.mark.cpu(180),  # the first to ask makes it, in 50 s of CPU on an idle machine
]

SINGLE = [family for family in FAMILIES if family != "two-crashes"]
"""The places of second crashes are found by playing the first ones, which takes a minute."""


@cache
def shared() -> list[tuple[str, Plan]]:
    return [(family, parse(line)) for family, line in runner.exhaustive(SINGLE, share=True)]


def test_every_cell_keeps_a_plan() -> None:
    wanted, kept = set[object](), set[object]()
    for scenario in scenarios().values():
        share = Share(scenario.name)
        for size, operator in gangs(scenario):
            clean = runner.reference(scenario.name, size, operator)
            for family in SINGLE:
                found = list(plans(family, clean))
                chosen = list(share.of(family, found, clean))
                assert set(chosen) <= set(found)
                wanted |= {(scenario.name, share.cell(family, plan, clean)) for plan in found}
                kept |= {(scenario.name, share.cell(family, plan, clean)) for plan in chosen}
    assert kept == wanted


def test_a_part_of_the_share_keeps_each_kind_of_fault_of_each_family_under_each_operator_of_each_scenario() -> None:
    def kinds(plans: list[tuple[str, Plan]]) -> set[object]:
        return {(family, p.scenario, p.operator, *(fault.kind for fault in p.faults)) for family, p in plans}

    part = [(family, parse(line)) for family, line in runner.exhaustive(SINGLE, share=True, part=8)]
    assert set(part) < set(shared())
    assert kinds(part) == kinds(shared())
    assert len(part) < len(shared()) / 3


def test_each_fault_strikes_under_each_operator_of_each_scenario() -> None:
    """By family, scenario, operator and kind, whatever the rule calls alike."""
    there = {(family, p.scenario, p.operator, fault.kind) for family, p in shared() for fault in p.faults}
    for scenario in scenarios().values():
        for size, operator in gangs(scenario):
            clean = runner.reference(scenario.name, size, operator)
            for family in SINGLE:
                kinds = {fault.kind for plan in plans(family, clean) for fault in plan.faults}
                assert {(family, scenario.name, operator, kind) for kind in kinds} <= there


def test_every_actor_operator_kind_of_fault_and_way_to_strike_is_there() -> None:
    played = [plan for _, plan in shared()]
    names = {plan.scenario for plan in played} | set(FAMILIES)
    assert {name for plans in actors().values() for name in plans} <= names
    assert {plan.operator for plan in played} == set(OPERATORS)
    assert {fault.kind for plan in played for fault in plan.faults} == set(KINDS)
    every = (parse(line) for _, line in runner.exhaustive(["error", "stranger", "clock-step"]))
    ways = {(fault.kind, fault.how) for plan in every for fault in plan.faults}
    assert ways <= {(fault.kind, fault.how) for plan in played for fault in plan.faults}


def test_the_share_is_the_same_in_every_run_and_does_not_depend_on_other_scenarios() -> None:
    alone = list(runner.exhaustive(SINGLE, ["member-fails"], share=True))
    beside = list(runner.exhaustive(SINGLE, ["happy", "member-fails"], share=True))
    assert alone == [each for each in beside if each[1].startswith("member-fails")]
    assert len(alone) < len(list(runner.exhaustive(SINGLE, ["member-fails"])))
