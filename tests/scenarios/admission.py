"""Pods that are not admitted, or late: webhooks that are down, slow or refuse, and quota.

A refused create is repeated after pauses that grow to 30 s, so it is accepted within 30 s of the refusal's end. The
runs go on for longer: what is not refused any more must not be called so while they do.
"""

from math import inf

from tests.scenarios.incidents import Fails
from tests.scenarios.operators import PROBED, TOGETHER
from tests.scenarios.scenario import SUCCEEDED, Refusal, Scenario, Trouble, restarted

SCENARIOS = (
    # The claim of the shared volume exceeds a quota for a while: no member starts without it.
    Scenario(
        "claim-refused",
        SUCCEEDED,
        spec={"storage": {"sharedVolume": {"mountPoint": "/data", "sizeGB": 5}}},
        refusals=(Refusal(0.0, 60.0, "quota", resource="persistentvolumeclaims"),),
        troubles=(Trouble("QuotaExceeded", ("exceeded quota",), since=1.0, within=5.0, until=90.0),),
        run=100.0,
    ),
    # An admission webhook cannot be called for a while.
    Scenario(
        "webhook-down",
        SUCCEEDED,
        refusals=(Refusal(0.0, 60.0, "webhook-down"),),
        troubles=(Trouble("WebhookFailed", ("pods.example.com",), since=1.0, within=5.0, until=90.0),),
        run=100.0,
    ),
    # It is called and does not answer within its timeout of 10 s.
    Scenario(
        "webhook-times-out",
        SUCCEEDED,
        refusals=(Refusal(0.0, 60.0, "webhook-timeout"),),
        troubles=(Trouble("WebhookFailed", ("pods.example.com",), since=11.0, within=15.0, until=110.0),),
        run=100.0,
    ),
    # It denies the pods for a while.
    Scenario(
        "webhook-denies",
        SUCCEEDED,
        refusals=(Refusal(0.0, 60.0, "webhook-denies"),),
        troubles=(Trouble("WebhookDenied", ("not today",), since=1.0, within=2.0, until=90.0),),
        run=100.0,
    ),
    # It denies every other pod for a while.
    Scenario(
        "webhook-denies-some",
        SUCCEEDED,
        operators=TOGETHER,  # elsewhere one pod is created while it denies some
        refusals=(Refusal(0.0, 40.0, "webhook-denies", every=2),),
        troubles=(
            Trouble("WebhookDenied", ("not today",), since=1.0, within=2.0, until=70.0),
            Trouble("RanksMissing", ("missing rank",), since=9.0, within=inf, until=72.0, operators=PROBED),
        ),
        run=100.0,
    ),
    # The quota of the namespace is exceeded for a while.
    Scenario(
        "quota-exceeded",
        SUCCEEDED,
        refusals=(Refusal(0.0, 60.0, "quota"),),
        troubles=(Trouble("QuotaExceeded", ("exceeded quota",), since=1.0, within=2.0, until=90.0),),
        run=100.0,
    ),
    # A member fails, and the gang starts again while more creates hang in another namespace than there are slots, and
    # some are refused in a third one.
    Scenario(
        "noisy-neighbours",
        restarted(),
        incidents=(Fails(rank=-1, after=15.0),),
        refusals=(
            Refusal(0.0, 100.0, "slow", seconds=60.0, namespace="noisy"),
            Refusal(0.0, 60.0, "webhook-timeout", namespace="refused"),
        ),
        others={**{f"noisy/run-{number}": SUCCEEDED for number in range(9)}, "refused/run": SUCCEEDED},
        like="quiet-neighbours",
        settle_within=120.0,
        families=("clean", "crash", "error", "slow-answer"),
    ),
    # The same without neighbours, for comparison.
    Scenario("quiet-neighbours", restarted(), incidents=(Fails(rank=-1, after=15.0),), families=("clean",)),
)
