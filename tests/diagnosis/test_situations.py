"""Each induced situation is named by its true cause and rank."""

import pytest

from muster.state.facts.causes.table import CAUSES, Causes
from tests.diagnosis.gang import Gang
from tests.diagnosis.inducing import Situation
from tests.diagnosis.situations import SITUATIONS

OF_MASSES = {
    *(Causes.DRIVER_FAILS, Causes.DRIVER_FAILED, Causes.NETWORK_FAILS, Causes.VOLUME_FAILS),
    *(Causes.NODE_PRESSURE, Causes.NODE_DISK_FULL),
}
"""tests/fleet_hours shows them, under many runs at once."""
ELSEWHERE = {Causes.LEFT, Causes.UNKNOWN, *OF_MASSES}
"""Causes without a row: tests/state/facts/diagnosis shows them."""


def played(situation: Situation) -> Gang:
    gang = Gang(situation.operator)
    situation.induce(gang)
    return gang


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_the_true_cause_and_ranks_are_named(situation: Situation) -> None:
    found = played(situation).findings()
    named = [(each.cause, each.ranks) for each in found]
    assert (situation.cause, situation.ranks) in named
    if situation.first:
        assert named[0] == (situation.cause, situation.ranks)
    ranks = [rank for each in found for rank in each.ranks]
    assert len(ranks) == len(set(ranks)), "a member has one cause"
    assert all(each.evidence and each.next_step for each in found)
    assert [each.sentence for each in played(situation).findings()] == [each.sentence for each in found]


def test_every_cause_and_every_framework_has_a_situation() -> None:
    assert len({each.name for each in SITUATIONS}) == len(SITUATIONS)
    assert {each.operator for each in SITUATIONS} == {"jax", "kuberay", "pytorch", "xgboost", "jobset"}
    assert set(CAUSES) - {each.cause for each in SITUATIONS} == ELSEWHERE


def test_every_cause_has_a_meaning_and_a_next_step() -> None:
    assert all(cause.meaning and cause.next_step for cause in CAUSES)


@pytest.mark.parametrize("operator", ["jax", "kuberay", "pytorch", "xgboost", "jobset"])
def test_nothing_is_reported_of_a_gang_that_works(operator: str) -> None:
    gang = Gang(operator)
    if operator == "kuberay":
        gang.report(4)
        gang.start(4)
    gang.start()
    if gang.plan.coordinator is not None and not gang.plan.coordinator.probe.passive:
        gang.hear()
    assert gang.findings() == ()
