"""Clusters of Ray: a head, workers, and a submitter that ends with its job while the others are stopped."""

from functools import partial

from tests.scenarios.incidents import Fails, Preempted
from tests.scenarios.operators import CLUSTERS
from tests.scenarios.scenario import End, Scenario

row = partial(Scenario, operators=CLUSTERS)

SCENARIOS = (
    # Head, then workers, then the submitter, whose success is the experiment's.
    row("cluster-runs", End("Succeeded", "SuccessPolicyMet"), core=True),
    # A worker is preempted and runs again while the job goes on.
    row(
        "cluster-worker-preempted",
        End("Succeeded", "SuccessPolicyMet", disruptions=1, cause=("PreemptionByScheduler", 1)),
        incidents=(Preempted(rank=1),),
        run=60.0,
    ),
    # A worker fails and runs again after the back-off, while the job goes on.
    row(
        "cluster-worker-fails",
        End("Succeeded", "SuccessPolicyMet", restarts=1, cause=("Error", 2)),
        incidents=(Fails(rank=2),),
        run=60.0,
    ),
    # The head is lost, and with it the job: all run again.
    row(
        "cluster-head-preempted",
        End("Succeeded", "SuccessPolicyMet", epoch=1, disruptions=1, cause=("PreemptionByScheduler", 0)),
        incidents=(Preempted(rank=0),),
    ),
    # The submitter is preempted; the next one finds the job at work.
    row(
        "cluster-submitter-preempted",
        End("Succeeded", "SuccessPolicyMet", disruptions=1, cause=("PreemptionByScheduler", -1)),
        incidents=(Preempted(rank=-1),),
        run=40.0,
    ),
    # The job fails: all run again.
    row(
        "cluster-job-fails",
        End("Succeeded", "SuccessPolicyMet", epoch=1, restarts=1, cause=("Error", -1)),
        incidents=(Fails(rank=-1),),
    ),
)
