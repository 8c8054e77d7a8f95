"""A driver of Ray that waits for an actor: one that never answers, or one that works for long."""

import time
from typing import Any, cast

import ray

from tests.hangs.programs import course, pauses
from tests.hangs.programs.ways import FOREVER


@ray.remote(num_cpus=1)  # type: ignore[misc, unused-ignore]
class Learner:
    """Makes a step a call."""

    def step(self, way: str, seconds: float) -> None:
        if way == "actor_never_returns":
            time.sleep(FOREVER)
        if way == "long_task":
            pauses.evaluate(seconds)


course.MINE = True  # the driver runs on the head, and is a rank of none
ray.init()
learner = cast("Any", Learner).remote()
step = 0
while True:
    ready = course.opens()
    if ready:
        course.begins()
    ray.get(learner.step.remote(course.WAY if ready else "", course.minutes(3)))
    if ready:
        course.ends()
    course.next_batch()
    course.step_ends(step)
    step += 1
