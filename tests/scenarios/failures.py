"""Members whose program exits with an error."""

from tests.scenarios.incidents import EVERY_EPOCH, Fails, Unkillable
from tests.scenarios.operators import MEETING
from tests.scenarios.scenario import SUCCEEDED, End, Scenario, Trouble, restarted

SCENARIOS = (
    # A member fails in the middle of the run and the others abort. One restart, then success.
    Scenario(
        "member-fails",
        restarted(),
        sizes=(1, 4, 16),
        incidents=(Fails(rank=-1, code=1),),
        says=(
            r"^Restarting \S+ .*rank LAST \(run-\S+\) ended with exit code 1 on node \S+",
            "^Succeeded AllMembersSucceeded",
        ),
        core=True,
    ),
    # The coordinator fails: the same as for any member, although no probe is answered any more.
    Scenario("coordinator-fails", restarted(rank=0), sizes=(4, 16), incidents=(Fails(rank=0, code=1),)),
    # A member exits before the gang is assembled; the others still wait at the coordinator.
    Scenario("crashes-at-start", restarted(), sizes=(1, 4, 16), incidents=(Fails(rank=-1, after=0.5, start=True),)),
    # The second epoch fails like the first: the back-off doubles, and the third epoch succeeds.
    Scenario("fails-again", restarted(2), incidents=(Fails(rank=-1, epochs=range(2)),)),
    # A member fails in every epoch until backoffLimit is reached.
    Scenario(
        "gives-up",
        End("Failed", "BackoffLimitExceeded", epoch=1, restarts=1, cause=("Error", -1)),
        sizes=(1, 4),
        spec={"restartPolicy": {"backoffLimit": 1}},
        incidents=(Fails(rank=-1, epochs=EVERY_EPOCH),),
        says=(r"^Failed BackoffLimitExceeded rank LAST .* ended with exit code 1 .*; restart limit reached",),
    ),
    # Two experiments run at the same time: one fails and is restarted, the other is not affected.
    Scenario("side-by-side", restarted(), sizes=(1, 4), incidents=(Fails(rank=-1),), others={"other": SUCCEEDED}),
    # Two experiments have the same name in two namespaces: one fails and is restarted, the other is not affected.
    Scenario(
        "same-name",
        restarted(),
        sizes=(1, 4),
        incidents=(Fails(rank=-1),),
        others={"elsewhere/run": SUCCEEDED},
        like="member-fails",
    ),
    # A member fails and the others hang in a collective and ignore SIGTERM, as JAX does.
    Scenario(
        "survivors-hang",
        restarted(),
        sizes=(4, 16),
        incidents=(Fails(rank=-1, code=1),),
        survivors="hang",
        ignores_sigterm=True,
    ),
    # The same, and the process of one of them cannot be killed for minutes: the gang waits, and names it.
    Scenario(
        "unkillable",
        restarted(),
        incidents=(Fails(rank=-1), Unkillable(rank=1, epochs=range(1))),
        survivors="hang",
        ignores_sigterm=True,
        troubles=(
            Trouble(
                "TerminatingDeadlineExceeded", ("on node node-1", "within 120 s"), 133.5, 2.0, 246.0, operators=MEETING
            ),
        ),
        settle_within=240.0,
    ),
    # Two members fail at the same instant and the rest abort: one restart for all of them.
    Scenario("two-fail", restarted(rank=1), sizes=(4, 16), incidents=(Fails(rank=1, code=1), Fails(rank=2, code=1))),
)
