"""Experiments that go as they should, with real JAX processes on the project's own node agent."""

import sys

import pytest

from tests.real.site import PROCESSES, Site

pytestmark = pytest.mark.timeout(180)
TRAIN = f"{sys.executable} -u examples/jax/train.py --steps 20"


async def test_two_jax_processes_train_and_succeed(here: Site) -> None:
    here.row.happens("2 JAX processes train for 20 steps")
    await here.submit("train", TRAIN, operator="jax", on=PROCESSES, cpus=0.25)
    await here.says("train", "^Succeeded AllMembersSucceeded", 120)
    assert "Succeeded" in await here.kubectl("get", "experiments")
