"""Every alert has a situation that fires it and one that does not, whether promtool is there or not."""

import pytest

from deploy.prometheus.groups import ALERTS
from tests.deploy.prometheus.cases import CASES


@pytest.mark.parametrize("name", [alert.name for alert in ALERTS])
def test_an_alert_has_a_case_that_fires_it_and_one_that_does_not(name: str) -> None:
    fires = {case.fires_after is not None for case in CASES if case.alert == name}
    assert fires == {True, False}


def test_every_case_is_of_an_alert() -> None:
    assert {case.alert for case in CASES} == {alert.name for alert in ALERTS}
