"""What a record says of jobs and ranks that are run again."""

from muster.api.gang import MAX_MEMBERS
from muster.api.restart_counts import JobRestarts
from muster.state.vocabulary.job_changes import ranks_of, restarts_of


def test_ranges_of_a_damaged_status_name_no_more_members_than_a_gang_may_have() -> None:
    assert ranks_of("0-999999999") == frozenset(range(MAX_MEMBERS))
    assert len(restarts_of((JobRestarts("0-999999999"),))) == MAX_MEMBERS
