"""A JobSet that is edited while it runs keeps the numbers of pods that its run was begun with."""

from typing import Any

import pytest

from muster.kinds.declaration import PlanError, plan_as_begun
from muster.kinds.jobset.run import DECLARED
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase, Record
from tests.builders import record
from tests.kinds.jobset.jobsets import job, jobset

(KIND,) = DECLARED
BEGUN = KIND.plan_of(jobset(job("a", replicas=2), job("b", replicas=1)))


def begun_with(plan: Plan, **changes: Any) -> Record:
    return record(phase=Phase.RUNNING, groups=plan.edits.sizes, **changes)


def replicas(plan: Plan) -> list[tuple[str, int]]:
    return [(group.name, group.replicas) for group in plan.groups]


def test_new_numbers_wait_while_the_run_goes_on() -> None:
    edited = jobset(job("a", replicas=3), job("b", replicas=1))
    plan = plan_as_begun(KIND, edited, BEGUN, begun_with(BEGUN))
    assert replicas(plan) == [("a", 2), ("b", 1)]
    assert plan.edits.waits == "spec.replicatedJobs"
    assert plan.edits.sizes == BEGUN.edits.sizes


@pytest.mark.parametrize("kept", [None, record(phase=Phase.SUSPENDED, groups=BEGUN.edits.sizes), record(groups=())])
def test_they_hold_at_once_where_no_run_was_begun_with_others(kept: Record | None) -> None:
    plan = plan_as_begun(KIND, jobset(job("a", replicas=3), job("b", replicas=1)), BEGUN, kept)
    assert replicas(plan) == [("a", 3), ("b", 1)]
    assert not plan.edits.waits


def test_other_groups_wait_as_the_plan_so_far_has_them() -> None:
    plan = plan_as_begun(KIND, jobset(job("c")), BEGUN, begun_with(BEGUN))
    assert replicas(plan) == [("a", 2), ("b", 1)]


def test_another_daemon_cannot_know_the_groups_that_are_gone() -> None:
    with pytest.raises(PlanError, match="begun with a, b, and these are c; write the former, or suspend it"):
        plan_as_begun(KIND, jobset(job("c")), None, begun_with(BEGUN))
    suspended = plan_as_begun(KIND, jobset(job("c"), suspend=True), None, begun_with(BEGUN))
    assert replicas(suspended) == [("c", 1)]
