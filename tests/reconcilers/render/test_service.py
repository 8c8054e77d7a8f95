"""The headless Service of an experiment."""

from muster.reconcilers.render.objects import render_service
from tests.fakes.plans import UID, gang


def test_the_service_is_headless_and_publishes_unready_members() -> None:
    service = render_service(gang())
    assert service["metadata"]["name"] == "moe"
    assert service["metadata"]["ownerReferences"][0]["uid"] == UID
    assert service["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"muster.dev/experiment-uid": UID},
        "ports": [{"name": "coordinator", "protocol": "TCP", "port": 1234, "targetPort": 1234}],
    }


def test_without_a_coordinator_the_service_has_no_port() -> None:
    assert "ports" not in render_service(gang(coordinator=None))["spec"]
