"""Members that end at different times, pods that are removed when they have ended, and injected containers."""

from tests.scenarios.incidents import Collected, Ends, Fails, Sidecar
from tests.scenarios.operators import RESOURCES
from tests.scenarios.scenario import SUCCEEDED, End, Scenario, UserAction, restarted

STAGED = {
    "data": {"count": 2, "resources": RESOURCES},
    "train": {"count": 2, "resources": RESOURCES, "dependsOn": [{"group": "data", "status": "Complete"}]},
}
"""Types of a jobset in two stages: ranks 0 and 1, then 2 and 3."""

SCENARIOS = (
    # A rank has nothing left to do and exits long before the others.
    Scenario(
        "uneven-ends",
        SUCCEEDED,
        incidents=(Ends(rank=-1),),
        says=("^Succeeded AllMembersSucceeded all SIZE members succeeded",),
        core=True,
    ),
    # The same, and its pod is removed while the others run: by pod garbage collection, or with its node.
    Scenario("finished-pod-collected", SUCCEEDED, incidents=(Ends(rank=-1), Collected(rank=-1)), core=True),
    # Every pod is removed as soon as it has succeeded; the last one a millisecond after its kubelet has said so.
    Scenario(
        "every-pod-collected",
        SUCCEEDED,
        incidents=(
            Ends(rank=1, after=5.0),
            Ends(rank=2, after=10.0),
            Collected(rank=0, after=0.5),
            Collected(rank=1, after=0.5),
            Collected(rank=2, after=0.5),
            Collected(rank=3, after=0.021),
        ),
    ),
    # A second group starts when the first is complete, in each epoch anew: a member of it fails once.
    Scenario(
        "staged", restarted(), operators=("jobset",), spec={"types": STAGED}, incidents=(Fails(rank=-1),), core=True
    ),
    # The success of the first of two groups is enough: the other one is stopped.
    Scenario(
        "any-job-is-enough",
        End("Succeeded", "SuccessPolicyMet"),
        operators=("jobset",),
        spec={"successPolicy": {"operator": "Any"}},
        incidents=(Ends(rank=2),),
        run=900.0,
    ),
    # The experiment is deleted half a minute after its end, and with it all that it owns.
    Scenario("ttl", End(""), spec={"ttlAfterFinished": "30s"}, says=("^Succeeded AllMembersSucceeded",), core=True),
    # Every member mounts a volume that is made with the experiment, found again in the next epoch, and deleted with it.
    Scenario(
        "shared-volume",
        End(""),
        spec={
            "ttlAfterFinished": "30s",
            "storage": {"sharedVolume": {"mountPoint": "/data", "sizeGB": 5, "accessMode": "ReadWriteMany"}},
        },
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # It is cancelled, and deleted as soon as its programs have ended.
    Scenario(
        "ttl-zero",
        End(""),
        spec={"ttlAfterFinished": "0s"},
        user_actions=(UserAction(15.0, {"cancel": True}),),
        run=200.0,
    ),
    # An injected container runs on when main has exited with 0.
    Scenario("sidecar-runs-on", SUCCEEDED, incidents=(Sidecar(rank=-1), Sidecar(rank=0))),
    # An injected container fails after main has exited with 0, and with it the pod.
    Scenario("sidecar-fails", SUCCEEDED, incidents=(Sidecar(rank=-1, ends=1.0, code=137),)),
    # Injected containers end long after main, each with another exit code; in the first epoch a member fails.
    Scenario(
        "sidecars-end-late",
        restarted(),
        incidents=(
            Fails(rank=-1),
            *(Sidecar(rank=rank, ends=20.0 + 10 * rank, code=code) for rank, code in enumerate((0, 1, 137, 143))),
        ),
    ),
)
