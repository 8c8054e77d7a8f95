"""Pods that are not admitted, or late: webhooks that are down, slow or refuse, and quota.

A refused create is repeated after pauses that grow to a minute, so it is accepted within a minute of the refusal's end.
"""

from tests.simulation.scenarios.scenario import End, Refusal, Scenario, Trouble

SUCCEEDED = End("Succeeded", "AllMembersSucceeded")

SCENARIOS = (
    # An admission webhook cannot be called for a while.
    Scenario(
        "webhook-down",
        SUCCEEDED,
        sizes=(4,),
        refusals=(Refusal(0.0, 60.0, "webhook-down"),),
        troubles=(Trouble("WebhookFailed", ("pods.example.com",), since=1.0, within=20.0, until=125.0),),
    ),
    # It is called and does not answer within its timeout of 10 s.
    Scenario(
        "webhook-times-out",
        SUCCEEDED,
        sizes=(4,),
        refusals=(Refusal(0.0, 60.0, "webhook-timeout"),),
        troubles=(Trouble("WebhookFailed", ("pods.example.com",), since=11.0, within=30.0, until=125.0),),
    ),
    # It denies the pods for a while.
    Scenario(
        "webhook-denies",
        SUCCEEDED,
        sizes=(4,),
        refusals=(Refusal(0.0, 60.0, "webhook-denies"),),
        troubles=(Trouble("WebhookDenied", ("not today",), since=1.0, within=10.0, until=125.0),),
    ),
    # The quota of the namespace is exceeded for a while.
    Scenario(
        "quota-exceeded",
        SUCCEEDED,
        sizes=(4,),
        refusals=(Refusal(0.0, 60.0, "quota"),),
        troubles=(Trouble("QuotaExceeded", ("exceeded quota",), since=1.0, within=10.0, until=125.0),),
    ),
    # Pods of another namespace are created slowly, there are many of them, and some are refused.
    Scenario(
        "noisy-neighbours",
        SUCCEEDED,
        sizes=(4,),
        refusals=(
            Refusal(0.0, 300.0, "slow", seconds=8.0, namespace="noisy"),
            Refusal(0.0, 60.0, "webhook-timeout", namespace="refused"),
        ),
        others={**{f"noisy/run-{number}": SUCCEEDED for number in range(6)}, "refused/run": SUCCEEDED},
        like="happy",
        settle_within=120.0,
    ),
)
