"""Containers that the kubelet starts again in their pods: of a JobSet, and of a watched gang of jax."""

from dataclasses import replace
from typing import Any

from tests.scenarios.incidents import Fails
from tests.scenarios.objects import Object, job, jobset
from tests.scenarios.operators import JOBSETS
from tests.scenarios.scenario import End, Scenario

DONE = End("Succeeded", "AllMembersSucceeded")
FAMILIES = ("clean", "crash", "takeover", "slow-answer")
OOM: dict[str, Any] = {"code": 137, "reason": "OOMKilled"}
GANG: dict[str, Any] = {"experiment": "gang", "rank": 1}


def _started_again() -> Object:
    spec = jobset(job("w", 2, replicas=2, job={"backoffLimit": 20}))
    spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    return spec


JOBS = Scenario(
    "jobset-restarts-in-place",
    DONE,
    sizes=(4,),
    operators=JOBSETS,
    spec=_started_again(),
    incidents=(Fails(rank=1, **OOM), Fails(rank=3, after=40.0)),
    run=90.0,
    families=FAMILIES,
)
WATCHED = Scenario(
    "gang-restarts-in-place",
    DONE,
    sizes=(1,),
    operators=("jax",),
    watched=3,
    incidents=(Fails(**GANG, **OOM),),
    run=200.0,
    families=FAMILIES,
)

SCENARIOS = (
    JOBS,
    # The same container again and again, and another one at its start.
    replace(
        JOBS,
        name="jobset-restarts-often",
        incidents=(Fails(rank=1, lives=range(3), **OOM), Fails(rank=2, code=1, start=True, after=0.5)),
        run=180.0,
    ),
    WATCHED,
    replace(WATCHED, name="gang-restarts-often", incidents=(Fails(**GANG, lives=range(4), **OOM),), run=700.0),
    # While it gathers: the other members wait, and lose nobody.
    replace(WATCHED, name="gang-restarts-at-start", incidents=(Fails(**GANG, start=True, after=0.4, lives=range(2)),)),
    replace(WATCHED, name="gang-killed-in-place", incidents=(Fails(**{**GANG, "rank": 2}, code=137),)),
)
