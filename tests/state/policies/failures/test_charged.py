"""Who is charged for the end of a gang that gave up waiting: one table."""

from muster.state.facts.causes.table import CAUSES, Causes, counted
from muster.state.policies.failures import restart_reasons

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
        if counted(fine) in wider and fine in CHARGES:
            assert (CHARGES[fine] == CHARGES[counted(fine)]) is (fine not in of_node)
            assert CHARGES[fine].platform or fine not in of_node
