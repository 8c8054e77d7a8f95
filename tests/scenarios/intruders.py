"""Users who forge pods of an experiment, and finalizers of other controllers."""

from muster.api.names import LABEL_EPOCH, LABEL_POD, LABEL_RANK
from tests.scenarios.incidents import Fails
from tests.scenarios.scenario import SUCCEEDED, AddsFinalizer, End, Forges, Scenario, UserAction, restarted

EXITED = {"phase": "Succeeded", "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 0}}}]}
FAILED = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 1}}}]}
RUNNING = {"phase": "Running", "containerStatuses": [{"name": "main", "state": {"running": {}}}]}
EVICTED = {"phase": "Failed", "reason": "Evicted"}


def _all_ranks(second: float, namespace: str) -> tuple[Forges, ...]:
    places = [{LABEL_RANK: rank, LABEL_POD: rank} for rank in "0123"]
    return tuple(
        Forges(second, namespace=namespace, name=f"forged-{number}", labels=labels, status=EXITED)
        for number, labels in enumerate(places)
    )


SCENARIOS = (
    # Pods in another namespace claim that every rank has exited with 0.
    Scenario("forged-success", SUCCEEDED, user_actions=_all_ranks(10.0, "elsewhere")),
    # Pods in another namespace claim that a rank has failed, and that one was evicted.
    Scenario(
        "forged-failure",
        SUCCEEDED,
        user_actions=(
            Forges(10.0, namespace="elsewhere", status=FAILED),
            Forges(12.0, namespace="elsewhere", name="evicted", status=EVICTED),
        ),
    ),
    # A pod in another namespace claims to be of an older epoch, runs forever and has a finalizer.
    Scenario(
        "forged-survivor",
        restarted(),
        incidents=(Fails(rank=-1),),
        user_actions=(Forges(5.0, namespace="elsewhere", labels={LABEL_RANK: "1"}, status=RUNNING, finalizer=True),),
    ),
    # Pods in the experiment's own namespace: with a rank that the gang does not have, and with one that it has.
    Scenario(
        "forged-rank",
        SUCCEEDED,
        user_actions=(
            Forges(5.0, name="forged-99", labels={LABEL_RANK: "99"}, status=FAILED),
            Forges(6.0, name="forged-1", labels={LABEL_RANK: "1"}, status=FAILED),
            Forges(7.0, name="forged-epoch", labels={LABEL_EPOCH: "7"}, status=RUNNING),
        ),
    ),
    # Another controller's finalizer keeps the pod of the member that fails.
    Scenario(
        "finalizer-on-pod",
        restarted(rank=1),
        incidents=(Fails(rank=1),),
        user_actions=(AddsFinalizer(8.0, rank=2, until=90.0),),
    ),
    # The same through two epochs: the pod has ended, so nothing waits for it.
    Scenario(
        "finalizer-over-two-epochs",
        restarted(2, rank=1),
        incidents=(Fails(rank=1, epochs=range(2)),),
        user_actions=(AddsFinalizer(8.0, rank=2, until=55.0),),
    ),
    # The Experiment is deleted, and another controller's finalizer keeps it for minutes.
    Scenario(
        "finalizer-on-experiment",
        End(""),
        user_actions=(AddsFinalizer(8.0, until=200.0), UserAction(15.0, delete=True)),
        run=400.0,
        settle_within=240.0,
    ),
)
