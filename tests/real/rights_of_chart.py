"""Whether a musterd of the chart has used what a group of rights is for, and missed none."""

from pathlib import Path

import yaml

from tests.deploy.chart.release import NAME, Release
from tests.real import rights
from tests.real.site import Site


async def of_chart(here: Site, ours: Release, group: str) -> None:
    """Of the rights that the release has, none was missing, and each of that API group was used."""
    text = await here.kubectl("get", "clusterrole", NAME, "--output=yaml")
    user = rights.account(ours.namespace, NAME)
    measured = rights.measure(Path(here.ground.audit_log), user, [yaml.safe_load(text)])
    assert not measured.missing
    assert {right for right in measured.unused if right[0] == group} == set()
