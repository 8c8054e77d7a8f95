"""Every restart is counted once, under its reason or under Other, whatever the reason is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.gang import MAX_RESTART_REASONS
from muster.state.policies import queueing
from muster.state.policies.failures.restart_reasons import EXPORTED, OTHER, REASONS, by_reason, counted
from muster.state.vocabulary.record import RestartReason
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
