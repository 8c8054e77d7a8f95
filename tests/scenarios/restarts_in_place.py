"""Containers that the kubelet starts again in their pods, of a watched gang of jax."""

from dataclasses import replace
from typing import Any

from tests.scenarios.incidents import Fails
from tests.scenarios.scenario import SUCCEEDED, Scenario

FAMILIES = ("clean", "crash", "takeover", "slow-answer")
OOM: dict[str, Any] = {"code": 137, "reason": "OOMKilled"}
GANG: dict[str, Any] = {"experiment": "gang", "rank": 1}


WATCHED = Scenario(
    "gang-restarts-in-place",
    SUCCEEDED,
    sizes=(1,),
    operators=("jax",),
    watched=3,
    incidents=(Fails(**GANG, **OOM),),
    run=200.0,
    families=FAMILIES,
)

SCENARIOS = (
    WATCHED,
    replace(WATCHED, name="gang-restarts-often", incidents=(Fails(**GANG, lives=range(4), **OOM),), run=700.0),
    # While it gathers: the other members wait, and lose nobody.
    replace(WATCHED, name="gang-restarts-at-start", incidents=(Fails(**GANG, start=True, after=0.4, lives=range(2)),)),
    replace(WATCHED, name="gang-killed-in-place", incidents=(Fails(**{**GANG, "rank": 2}, code=137),)),
)
