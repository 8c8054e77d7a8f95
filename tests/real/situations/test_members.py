"""Members that cannot begin because of an init container, and members that end while others go on."""

from datetime import datetime, timedelta

import pytest

from muster.api.names import API_VERSION
from tests.real.namespace import MERGE
from tests.real.site import Site

pytestmark = pytest.mark.timeout(400)
PATIENCE = 300
"""Seconds after which ranks that ended are called Stuck (``muster.state.policies.gathering.blocked``)."""


async def test_ranks_that_end_while_others_run_on_are_reported_and_stuck_after_five_minutes(here: Site) -> None:
    """The five minutes are not waited for: the kubelet reports the end late, and the status is set back."""
    await here.submit("run", f"rank=1: run 3, exit 0, late {PATIENCE}\n*: run 600", members=3, operator="xgboost")
    said = r"^Running RanksEnded .*1 member ended with exit code 0 \(rank 1\) while 2 run on"
    here.row.happens("rank 1 of 3 exits 0, the others go on")
    await here.says("run", said)
    seen = await here.client.get("run", namespace=here.namespace)
    assert not seen.holds("Stuck")
    here.row.happens(
        "rank 1 of 3 ended with exit code 0 five minutes ago (status.blocked is set back), the others go on"
    )
    began = datetime.fromisoformat(seen.raw["status"]["blocked"]["time"]) - timedelta(seconds=PATIENCE)
    path = f"/apis/{API_VERSION}/namespaces/{here.namespace}/experiments/run/status"
    blocked = {"blocked": {"time": began.isoformat(timespec="microseconds").replace("+00:00", "Z")}}
    await here.request("PATCH", path, {"status": blocked}, MERGE)
    await here.is_stuck("run", "RanksEnded", said)
