"""A member fails and the others do not notice: they hang in a collective, and ignore SIGTERM as JAX does."""

from tests.simulation.scenario import Dies, End, Scenario

SCENARIO = Scenario(
    "survivors-hang",
    End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("Error", -1)),
    sizes=(4, 16),
    befalls=(Dies(rank=-1, code=1),),
    survivors="hang",
    deaf=True,
)
