"""Users, policies and controllers that take the label or the owner reference from pods that run."""

from dataclasses import replace

from tests.scenarios.incidents import Fails
from tests.scenarios.repairs import APART, rules
from tests.scenarios.scenario import SUCCEEDED, Alteration, Alters, End, Scenario, Trouble, UserAction, restarted

TOGETHER = ("jax", "pytorch", "xgboost", "jobset", "jobset-object", "jaxjob-object")
"""The operators whose members run from the first second to the last."""
ALTERED = Trouble("PodAltered", ("may still run",), since=20.0, within=2.0)
ENDS = replace(ALTERED, until=100.0)
BESIDE = ("clean", "error", "slow-answer", "expired-page", "reorder", "double", "clock-step", "stranger")
"""Faults under which one daemon sees a pod before it is altered, and at once that it was: what is gone before a daemon
comes, and has neither label nor owner, is unknown to it."""
AFTERWARDS = (*BESIDE, "crash", "relist", "drop", "late-write")
"""With those under which another daemon must find the pod by its name."""

SCENARIOS = (
    # The label of a rank is removed, and set again half a minute later: nothing has happened to the gang.
    Scenario(
        "label-removed",
        SUCCEEDED,
        operators=TOGETHER,
        user_actions=(Alters(20.0, until=50.0),),
        troubles=(Trouble("PodAltered", ("may still run", "is missing"), since=20.0, within=2.0, until=50.0),),
        run=60.0,
    ),
    # The label is rewritten: a list by that label lacks the pod, and the watch goes on to show it.
    Scenario(
        "label-rewritten",
        SUCCEEDED,
        operators=TOGETHER,
        user_actions=(Alters(20.0, how=Alteration.RELABELLED, until=50.0),),
        troubles=(Trouble("PodAltered", ("may still run", "is now"), since=20.0, within=2.0, until=50.0),),
        run=60.0,
    ),
    # A controller orphans the pod, and it stays so: the rank ends out of sight, and is done.
    Scenario(
        "pod-disowned",
        SUCCEEDED,
        operators=TOGETHER,
        user_actions=(Alters(20.0, how=Alteration.DISOWNED),),
        troubles=(ENDS,),
        run=60.0,
    ),
    # Another member fails meanwhile, and the programs wait for it forever: the altered pod goes before the next epoch,
    # some seconds after it was altered. A daemon whose watch has lost that event may hear of it too late to say it.
    Scenario(
        "altered-and-failed",
        restarted(),
        operators=("jax", "pytorch", "xgboost", "jaxjob-object"),
        incidents=(Fails(rank=-1),),
        user_actions=(Alters(8.0), Alters(8.5, how=Alteration.DISOWNED)),
        troubles=(Trouble("PodAltered", ("still run",), since=8.0, within=2.0, until=15.0),),
        survivors="hang",
        families=AFTERWARDS,
    ),
    # The Experiment is deleted: nothing but Muster would ever delete the pod.
    Scenario(
        "altered-and-deleted",
        End(""),
        operators=TOGETHER,
        user_actions=(Alters(20.0, how=Alteration.DISOWNED), UserAction(25.0, delete=True)),
        troubles=(ALTERED,),
        run=200.0,
        families=BESIDE,
    ),
    # Members run again one by one: that of the altered pod does not run beside it.
    Scenario(
        "altered-and-apart",
        SUCCEEDED,
        operators=APART,
        spec=rules({"action": "RestartMember"}),
        user_actions=(Alters(20.0),),
        troubles=(ENDS,),
        run=40.0,
    ),
)
