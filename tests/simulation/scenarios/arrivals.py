"""Gangs that assemble, late or not at all, while no clock ends them."""

from tests.simulation.scenarios.operators import MEETING, PROBED
from tests.simulation.scenarios.scenario import End, Fails, NeverArrives, Scenario, SlowImage

SCENARIOS = (
    # All members arrive, run and exit 0.
    Scenario("happy", End("Succeeded", "AllMembersSucceeded"), core=True),
    # The coordinator starts alone; the other members start when it serves.
    Scenario(
        "coordinator-first",
        End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("Error", -1)),
        sizes=(4,),
        operators=MEETING,
        spec={"startup": {"order": "CoordinatorFirst"}},
        incidents=(Fails(rank=-1),),
    ),
    # The coordinator runs and never opens its port. No clock is set: the experiment is Stuck and stays.
    Scenario(
        "coordinator-never-serves",
        End("Assembling", "CoordinatorNotServing"),
        sizes=(4,),
        operators=PROBED,
        incidents=(NeverArrives(rank=0),),
        settle_within=400.0,  # status.message is refreshed at growing intervals, the last time after minutes
    ),
    # A rank never registers, and the assembly clock only alerts: the gang waits, and status is no longer written.
    Scenario(
        "never-arrives-alerts",
        End("Assembling", "AssemblyDeadlineExceeded"),
        sizes=(4,),
        operators=PROBED,
        spec={"clocks": {"assembly": {"after": "60s", "action": "Alert"}}},
        incidents=(NeverArrives(rank=-1),),
        settle_within=400.0,  # as in coordinator-never-serves
    ),
    # One image is pulled slowly; the other members wait at the coordinator.
    Scenario(
        "slow-image",
        End("Succeeded", "AllMembersSucceeded"),
        sizes=(4,),
        incidents=(SlowImage(rank=-1, seconds=40.0),),
    ),
)
