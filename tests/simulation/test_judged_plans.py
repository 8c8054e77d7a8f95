"""Plans that an oracle once took for a violation, and why each is right."""

import pytest

from tests.simulation import runner
from tests.simulation.plans.plan import parse

JUDGED = (
    # Members that wait for no other ended while a daemon that was away had not created the rest.
    "two-fail:op=jobset:n=4:stale=4/4",
    "any-job-is-enough:op=jobset:n=4:slow-answer=4/5:stale=6/3",
    # A leader whose clock was behind persisted times that are too early for the leader after it.
    "total-passes:op=pytorch:n=1:skew=2/-30:skew=10/30",
    "total-passes:n=4:slow-answer=3/5:crash-after=17:refuse=6/409:skew=7/-30:seed=3365:shuffle",
    "unschedulable-fails:n=4:skew=16/-30:crash-before=21:delete-pod=12/2",
    # The grace of an old pod is cut after 600 s, and that is the last write.
    "node-lost-blocks:op=jobset-sequential:n=4:step-clock=4/-3600",
    # One create of a wave was refused, and the watch did not show the others for longer than the pending clock lasts.
    "unschedulable-restarts:op=pytorch:n=4:refuse=27/409:hold=42/120:edit-spec=15",
    # The watch expired over the deletion of a pod of a gang that was not complete: it is made again in its epoch.
    "webhook-denies-some:n=4:expire=17:delete-pod=16/0:seed=3732:shuffle",
    # A leader whose clock is 30 s behind waits for no culprit: it judges the exit code of a survivor.
    "jaxjob-exit-code:op=jaxjob-object:n=4:skew=17/-30:seed=1631:shuffle",
    # The next leader's clock is 30 s ahead, so its deadline comes before the patience with a missing rank is over.
    "never-arrives-fails:n=4:skew=12/30",
)


@pytest.mark.parametrize("line", JUDGED)
def test_a_plan_that_was_judged_has_no_violation(line: str) -> None:
    plan = parse(line)
    assert runner.judge(plan).violations == ()
