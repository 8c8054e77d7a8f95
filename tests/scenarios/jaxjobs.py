"""JAXJob objects: what follows a failure by restart policy, and what Kubeflow's status says of it."""

from functools import partial

from tests.scenarios.incidents import EVERY_EPOCH, Fails, Preempted
from tests.scenarios.objects import jaxjob
from tests.scenarios.operators import JAXJOBS
from tests.scenarios.scenario import End, Scenario, disrupted, restarted, succeeded

RAN = ("Created/JAXJobCreated", "(Running/JAXJobRunning)", "Succeeded/JAXJobSucceeded")
FAILED = ("Created/JAXJobCreated", "(Running/JAXJobRunning)", "Failed/JAXJobFailed")
SUCCEEDED = succeeded(own={"conditions": RAN})

row = partial(Scenario, operators=JAXJOBS)

SCENARIOS = (
    row("jaxjob-runs", SUCCEEDED, sizes=(1, 4), core=True),
    # A worker fails and all run again under the same host names.
    row("jaxjob-member-fails", restarted(own={"conditions": RAN}), incidents=(Fails(rank=-1),), core=True),
    # The coordinator is lost while the others hang.
    row(
        "jaxjob-coordinator-preempted",
        disrupted("PreemptionByScheduler", rank=0, own={"conditions": RAN}),
        incidents=(Preempted(rank=0),),
        survivors="hang",
        core=True,
    ),
    # A worker fails in every run, until the back-off limit is used.
    row(
        "jaxjob-gives-up",
        End("Failed", "BackoffLimitExceeded", epoch=1, restarts=1, cause=("Error", -1), own={"conditions": FAILED}),
        spec=jaxjob(4, backoffLimit=1),
        incidents=(Fails(rank=-1, epochs=EVERY_EPOCH),),
    ),
    # With Never the first failure is the end.
    row(
        "jaxjob-never-again",
        End("Failed", "FailureRule", cause=("Error", -1), own={"conditions": FAILED}),
        spec=jaxjob(4, restart="Never"),
        incidents=(Fails(rank=-1),),
    ),
    # With ExitCode a signal is retried, and another code is the end.
    row(
        "jaxjob-exit-code",
        End("Failed", "FailureRule", epoch=1, restarts=1, cause=("Error", -1), own={"conditions": FAILED}),
        spec=jaxjob(4, restart="ExitCode"),
        incidents=(Fails(rank=-1, code=143), Fails(rank=-1, epochs=range(1, 2), code=3)),
    ),
    # It is active for longer than it may be.
    row(
        "jaxjob-deadline",
        End("Failed", "DeadlineExceeded", clock=60.0, own={"conditions": FAILED}),
        spec=jaxjob(4, activeDeadlineSeconds=60),
        run=900.0,
        settle_within=130.0,
    ),
)
