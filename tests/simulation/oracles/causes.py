"""A restart names its true cause: the member to which something happened, with its pod.

Where something happened to several members of an epoch, each of them is a true cause; which one is the first is
judged at the end (``oracles.ends``).
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from tests.scenarios.incidents import ContainerWaits, CoordinatorFlaps, NeverArrives, Pauses
from tests.simulation.oracles.courses import course
from tests.simulation.plans.masks import cause_may_differ, stalled, unrecorded_epochs
from tests.simulation.plans.plan import FOREIGN_CHANGES
from tests.simulation.world.world import World

BLOCKS = (Pauses, NeverArrives, ContainerWaits, CoordinatorFlaps)
"""What keeps all others waiting: who gives up names that member."""
GONE = "PodDeleted"
"""The reason where nothing of a pod is left but that it is gone."""


def truly_named(world: World) -> Iterator[str]:
    """The restarts whose cause or sentence names a member to which nothing happened, or none."""
    plan = world.plan
    if cause_may_differ(plan) or plan.has(*FOREIGN_CHANGES) or stalled(world):
        return
    for name in world.scenario.ends:
        doubtful = unrecorded_epochs(world, name)
        for before, turn in pairwise(course(world, name)):
            hit = {rank for _, _, run, epoch, rank in world.incident_log if (run, epoch) == (name, before.epoch)}
            blocks = [each for each in world.scenario.incidents if isinstance(each, BLOCKS) and each.experiment == name]
            hit |= {each.rank % world.plan.size for each in blocks if hit and before.epoch in each.epochs}
            cause = turn.status.get("cause") or {}
            if turn.epoch == before.epoch or not hit or before.epoch in doubtful or cause.get("reason") == GONE:
                continue
            story = turn.status.get("story", ())
            told = [line["message"] for line in story if line["reason"] == "GangRestart"][-1:]
            if not told and not world.operator.of_run_kind:
                continue  # suspended, or deleted
            pods = {each.rank: each.name for each in world.kubelet.named(name, before.epoch)}
            if cause.get("rank") not in hit:
                yield f"{name}: epoch {turn.epoch} names rank {cause.get('rank')}; it was one of {sorted(hit)}"
            elif told and not re.search(rf"rank {cause['rank']} \((\S+, )?{re.escape(pods[cause['rank']])}", told[0]):
                yield f"{name}: the sentence does not name rank {cause['rank']} and its pod: {told[0]}"
