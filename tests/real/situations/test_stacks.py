"""Stacks by commands in pods: who may ask is the API server's own authorization, and the node's agent runs them."""

import sys
from typing import Any

import pytest

from tests.real.diagnosing import EXPERIMENTS, entitled
from tests.real.namespace import Refused
from tests.real.site import PROCESSES, Site

pytestmark = pytest.mark.timeout(400)
PROGRAM = """
import os, time

def all_reduce():
    while True:
        time.sleep(0.05)

def next_batch():
    while True:
        time.sleep(0.05)

next_batch() if os.environ["MUSTER_RANK"] == "1" else all_reduce()
"""


async def of_role(here: Site, role: str) -> str:
    """What `muster stacks` says to a user who has that role of Kubernetes and may read experiments."""
    await entitled(here, role, EXPERIMENTS, role=role)
    try:
        return await here.muster("stacks", "run", config=await here.account(role))
    except Refused as refused:
        return str(refused)


@pytest.mark.core
async def test_stacks_need_the_right_to_execute_commands_which_edit_has_and_view_has_not(here: Site) -> None:
    """With the right the commands run in the containers: the API server passes them on to the node."""
    options: dict[str, Any] = {"operator": "jobset", "on": PROCESSES, "members": 3, "assist": True}
    await here.running("run", f"exec {sys.executable} -u -c '{PROGRAM}'", **options)
    here.row.happens("muster stacks by people with the roles view and edit")
    refused = await of_role(here, "view")
    here.row.says(" ".join(refused.split()))
    assert "you may not execute commands in pods" in refused
    assert "`get` and `create` on pods/exec" in refused
    allowed = await of_role(here, "edit")
    here.row.said += f"; {' '.join(allowed.split())}"
    assert "you may not execute" not in allowed
    assert "command=" not in allowed
    if not here.ground.kubelet:
        pytest.skip("the API server of the cluster that is given does not reach the node agent of these tests")
    most, odd, *_ = allowed.splitlines()
    assert most.startswith("2 ranks (0, 2) in all_reduce at <string>:")
    assert odd.startswith("rank 1 in next_batch at <string>:")
