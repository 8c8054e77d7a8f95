"""A release of the chart, for situations that need another musterd than the ground's."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deploy.helm.copies import CRD
from tests.deploy.chart.release import Release, release
from tests.real.site import Site
from tests.real.stopping import held
from tests.tools.go_tool import HELM


@pytest.fixture
def helm() -> Path:
    return HELM.needed()


@pytest.fixture
async def ours(here: Site, helm: Path) -> AsyncIterator[Release]:
    """A release, while no other musterd runs. For tests with the mark `alone`."""
    async with held(here.ground, "musterd"), release(here, helm) as made:
        yield made
    await here.kubectl("apply", "--filename", str(CRD))
