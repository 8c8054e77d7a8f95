"""A member fails in every epoch until the restarts are used up."""

from tests.simulation.scenario import EVER, Dies, End, Scenario

SCENARIO = Scenario(
    "gives-up",
    End("Failed", "BackoffLimitExceeded", epoch=1, restarts=1, cause=("Error", -1)),
    sizes=(1, 4),
    spec={"restartPolicy": {"backoffLimit": 1}},
    befalls=(Dies(rank=-1, epochs=EVER),),
)
