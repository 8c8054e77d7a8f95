"""Every restart is counted once, under a reason of a closed set that shows who is charged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.gang import MAX_RESTART_REASONS, RestartReason
from muster.state.facts.causes import table
from muster.state.facts.causes.table import CAUSES, Causes
from muster.state.policies import queueing
from muster.state.policies.failures import restart_reasons
from muster.state.policies.failures.restart_reasons import EXPORTED, OTHER, REASONS, by_reason, counted
from tests.builders import record


@given(st.lists(st.sampled_from((*REASONS, "", "Made\nUp", 'x"}')), max_size=60))
def test_the_counts_are_bounded_and_their_sum_is_the_number_of_restarts(reasons: list[str]) -> None:
    counts: tuple[RestartReason, ...] = ()
    for reason in reasons:
        counts = counted(counts, reason)
    found = by_reason(record(restarts=len(reasons), restart_reasons=counts))
    assert sum(found.values()) == len(reasons)
    assert set(EXPORTED) <= set(found) <= set(REASONS) if reasons else not found
    assert len(counts) <= len(REASONS)


def test_the_status_has_room_for_a_count_of_every_reason() -> None:
    assert len(REASONS) <= MAX_RESTART_REASONS


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("OOMKilled", "OOMKilled"),
        ("DeadlineExceeded", "DeadlineExceeded"),
        ("Rebooted", OTHER),
        ("DeactivatedDueToRequeuingLimitExceeded", "Deactivated"),
    ],
)
def test_a_reason_is_counted_under_its_own_name_in_the_closed_set_or_as_other(reason: str, name: str) -> None:
    assert counted((RestartReason(name, 2),), reason) == (RestartReason(name, 3),)


@pytest.mark.parametrize("reason", queueing.LOST)
def test_what_takes_the_quota_is_counted_under_kueues_own_reason(reason: str) -> None:
    assert counted((), reason) == (RestartReason(reason, 1),)
    assert by_reason(record(restart_reasons=(RestartReason(reason, 2),), gang_restarts=2))[reason] == 2
    assert reason not in EXPORTED


CHARGES = {each: each.charge for each in CAUSES if each.charge}
ENDS_OR_FOLLOWS = {
    Causes.OOM_KILLED, Causes.CRASHED, Causes.NODE_LOST, Causes.EVICTED, Causes.LOST,
    Causes.TERMINATING, Causes.HEARTBEAT_LOST, Causes.GIVEN_UP, Causes.HELD_BACK,
    Causes.NAME_TAKEN, Causes.AWAITS_COORDINATOR, Causes.DRIVER_FAILED, Causes.NODE_PRESSURE,
}  # fmt: skip
"""Ends of a member with a cause of their own, and what follows from another cause."""


def test_every_cause_has_a_row_or_is_an_end_or_a_consequence() -> None:
    assert set(CHARGES) | ENDS_OR_FOLLOWS == set(CAUSES)
    assert not set(CHARGES) & ENDS_OR_FOLLOWS


def test_a_reason_is_in_the_closed_set_and_says_who_is_charged() -> None:
    assert {row.reason for row in CHARGES.values()} <= set(restart_reasons.REASONS)
    assert set(restart_reasons.TO_THE_PLATFORM) <= set(restart_reasons.DISRUPTED)
    assert not set(restart_reasons.TO_THE_USER) & set(restart_reasons.BY_THE_PLATFORM)


def test_a_finer_cause_is_charged_as_the_wider_one_where_that_is_the_same_thing() -> None:
    wider, of_node = {Causes.REFUSED, Causes.CONTAINER_CANNOT_START}, {Causes.DRIVER_FAILS, Causes.NODE_DISK_FULL}
    for fine in CAUSES:
        if table.counted(fine) in wider and fine in CHARGES:
            assert (CHARGES[fine] == CHARGES[table.counted(fine)]) is (fine not in of_node)
            assert CHARGES[fine].platform or fine not in of_node
