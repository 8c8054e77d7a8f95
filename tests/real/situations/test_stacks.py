"""Who may ask for stacks: the API server's own authorization of commands in pods, before any command runs."""

import pytest

from tests.real.namespace import Refused
from tests.real.site import Site

pytestmark = pytest.mark.timeout(400)


async def of_role(here: Site, role: str) -> str:
    """What `muster stacks` says to a user who has that role of Kubernetes and may read experiments."""
    await here.kubectl("create", "serviceaccount", role)
    account = f"--serviceaccount={here.namespace}:{role}"
    await here.kubectl("create", "rolebinding", role, f"--clusterrole={role}", account)
    await here.kubectl("create", "rolebinding", f"{role}-reads", "--role=reader", account)
    try:
        return await here.muster("stacks", "run", config=await here.account(role))
    except Refused as refused:
        return str(refused)


async def test_stacks_need_the_right_to_execute_commands_which_edit_has_and_view_has_not(here: Site) -> None:
    await here.kubectl("create", "role", "reader", "--verb=get,list,watch", "--resource=experiments.muster.dev")
    await here.submit("run")
    await here.phase("run", "Running")
    here.row.happens("muster stacks by people with the roles view and edit")
    refused = await of_role(here, "view")
    here.row.says(" ".join(refused.split()))
    assert "you may not execute commands in pods" in refused
    assert "`get` and `create` on pods/exec" in refused
    allowed = await of_role(here, "edit")
    here.row.said += f"; {' '.join(allowed.split())}"
    # There is no kubelet here that the API server could pass the command on to: it says so after it has authorized it.
    assert "you may not execute" not in allowed
    assert ':10250": ' in allowed
    assert "command=" not in allowed
