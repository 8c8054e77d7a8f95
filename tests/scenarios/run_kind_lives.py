"""What users and administrators do to objects of other kinds: suspend, delete, keep, and remove the whole kind."""

from typing import Any

from tests.scenarios.jaxjobs import RAN
from tests.scenarios.jobsets import COMPLETED
from tests.scenarios.objects import jaxjob
from tests.scenarios.operators import JAXJOBS, JOBSETS
from tests.scenarios.scenario import (
    End,
    Scenario,
    Serves,
    StopsServing,
    SubmitsAgain,
    SubmitsOthers,
    UserAction,
    succeeded,
)

SUCCEEDED = succeeded(own={"restarts": 0, "conditions": COMPLETED})
RESUMED = succeeded(epoch=1, other_ends=1, own={"restarts": 0, "conditions": COMPLETED})
ANOTHERS: dict[str, Any] = {"conditions": [{"type": "Suspended", "status": "True", "reason": "SuspendedJobs"}]}


def suspended(on: bool) -> dict[str, Any]:
    """The run policy of a JAXJob that is to be suspended, or resumed."""
    return {"runPolicy": {"suspend": on}}


SCENARIOS = (
    # Suspended while it runs, and resumed: the restarts of a JobSet do not count that.
    Scenario(
        "jobset-suspended",
        RESUMED,
        operators=JOBSETS,
        user_actions=(UserAction(15.0, {"suspend": True}), UserAction(240.0, {"suspend": False})),
        run=150.0,
        settle_within=240.0,
        core=True,
    ),
    Scenario(
        "jaxjob-suspended",
        succeeded(epoch=1, other_ends=1, own={"conditions": RAN}),
        operators=JAXJOBS,
        user_actions=(UserAction(15.0, suspended(True)), UserAction(240.0, suspended(False))),
        run=150.0,
        settle_within=240.0,
    ),
    # Deleted half a minute after its end.
    Scenario("jobset-ttl", End(""), operators=JOBSETS, spec={"ttlSecondsAfterFinished": 30}, core=True),
    Scenario("jaxjob-ttl", End(""), operators=JAXJOBS, spec=jaxjob(4, ttlSecondsAfterFinished=30)),
    # Deleted while it runs.
    Scenario("jobset-deleted", End(""), operators=JOBSETS, user_actions=(UserAction(15.0, delete=True),), run=200.0),
    # Deleted, and another one of its name is submitted.
    Scenario(
        "jobset-submitted-again",
        SUCCEEDED,
        operators=JOBSETS,
        user_actions=(UserAction(15.0, delete=True), SubmitsAgain(17.0)),
        run=100.0,
    ),
    # The version is not served for a minute, while the pods run on: what is known of them is kept.
    Scenario(
        "jobset-not-served",
        SUCCEEDED,
        operators=JOBSETS,
        user_actions=(StopsServing(15.0), Serves(75.0)),
        run=200.0,
        core=True,
    ),
    # The same, and the pods end meanwhile: the end is persisted when the kind is there again.
    Scenario(
        "jobset-ends-unserved",
        SUCCEEDED,
        operators=JOBSETS,
        user_actions=(StopsServing(15.0), Serves(75.0)),
        run=30.0,
        settle_within=130.0,
    ),
    Scenario(
        "jaxjob-not-served",
        succeeded(own={"conditions": RAN}),
        operators=JAXJOBS,
        user_actions=(StopsServing(15.0), Serves(75.0)),
        run=200.0,
    ),
    # The CRD is removed with all objects, and installed again; another object of the name is submitted.
    Scenario(
        "jobset-crd-removed",
        SUCCEEDED,
        operators=JOBSETS,
        user_actions=(StopsServing(15.0, delete=True), Serves(75.0), SubmitsAgain(76.0)),
        run=100.0,
        settle_within=130.0,
    ),
    # Beside it there are objects of another manager, whose status that one writes.
    Scenario(
        "jobset-beside-others",
        SUCCEEDED,
        operators=JOBSETS,
        user_actions=(
            SubmitsOthers(1.2, {"managedBy": None}, experiment="theirs", status=ANOTHERS),
            SubmitsOthers(1.5, {"managedBy": "kueue.x-k8s.io/multikueue"}, experiment="remote", status=ANOTHERS),
        ),
    ),
)
