"""Two members fail at the same instant, and the rest abort: one restart for all of them."""

from tests.simulation.scenario import Dies, End, Scenario

SCENARIO = Scenario(
    "two-fail",
    End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("Error", 1)),
    sizes=(4, 16),
    befalls=(Dies(rank=1, code=1), Dies(rank=2, code=1)),
)
