"""Devices that the plugin of a node reports as Unhealthy, in the status of a pod (KEP-4680)."""

from typing import Any

import pytest

from muster.state.vocabulary.pod import Pod
from muster.watchers.pods import decode as pods
from muster.watchers.pods.containers import MOST_DEVICES, MOST_OF_NAME
from tests.builders import sure
from tests.fakes.apiserver import event
from tests.fakes.objects import container, pod

GPU = "GPU-8f2a6c1e-0d1b-4a55-9a8e-3c1f9b7d2e10"


def seen(*resources: Any, **more: Any) -> Pod:
    status = {**container("main", {"running": {}}), "allocatedResourcesStatus": list(resources), **more}
    return sure(pods.DECODER.event(event("ADDED", pod(containerStatuses=[status]))).obj)


def resource(name: str, **health: str) -> dict[str, Any]:
    return {"name": name, "resources": [{"resourceID": which, "health": what} for which, what in health.items()]}


@pytest.mark.parametrize(
    ("name", "devices", "unhealthy"),
    [
        ("nvidia.com/gpu", {GPU: "Unhealthy", "GPU-1": "Healthy"}, f"nvidia.com/gpu {GPU}"),
        ("claim:gpus/gpu", {"pool/dev-0": "Unhealthy"}, "claim:gpus/gpu pool/dev-0"),
        ("nvidia.com/gpu", {f"GPU-{n}": "Unhealthy" for n in range(4)}, "nvidia.com/gpu GPU-0 and 3 more"),
        *(("nvidia.com/gpu", {GPU: health}, "") for health in ("Healthy", "Unknown", "unhealthy", "")),
    ],
)
def test_the_first_unhealthy_device_is_named_and_the_others_are_counted(
    name: str, devices: dict[str, str], unhealthy: str
) -> None:
    assert seen(resource(name, **devices)).unhealthy == unhealthy


def test_a_pod_of_a_cluster_without_that_field_has_none() -> None:
    assert seen(allocatedResourcesStatus=None).unhealthy == ""
    assert seen({"name": "nvidia.com/gpu"}, {"resources": [{}]}).unhealthy == ""


def test_a_status_of_any_length_is_bounded_and_printable() -> None:
    many = resource("r" * 10_000, **{f"{n}\n{'x' * 10_000}": "Unhealthy" for n in range(500)})
    found = seen(many, many).unhealthy
    assert len(found) <= 2 * MOST_OF_NAME + 20
    assert found.isprintable()
    assert found.endswith(f" and {MOST_DEVICES - 1} more")
