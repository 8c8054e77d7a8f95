"""What of a container's resources is a device, and how much of a hostile manifest is believed."""

from typing import Any

import pytest

from muster.api.values.accelerators import CLAIMS, MOST_NAMES, MOST_OF_ONE, Devices, devices_of, of_containers, total


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"cpu": "4", "memory": "8Gi", "hugepages-2Mi": "1Gi", "kubernetes.io/batch": "1"}, ()),
        ({"node.kubernetes.io/pods": "1", "requests.nvidia.com/gpu": "1"}, ()),
        ({"nvidia.com/gpu": "8"}, (("nvidia.com/gpu", 8),)),
        ({"nvidia.com/gpu": 8, "rdma/hca": "1"}, (("nvidia.com/gpu", 8), ("rdma/hca", 1))),
        ({"nvidia.com/gpu": "0"}, ()),
        ({"nvidia.com/gpu": "a million"}, ()),
        ({"nvidia.com/gpu": "-5"}, ()),
        ({"nvidia.com/gpu": "9223372036854775807"}, (("nvidia.com/gpu", MOST_OF_ONE),)),
        ({f"{'x' * 200}/gpu": "1"}, ()),
    ],
)
def test_extended_resources_are_devices_and_their_number_is_bounded(asked: dict[str, Any], found: Devices) -> None:
    assert devices_of(asked) == found


def test_names_without_end_leave_the_first_few() -> None:
    assert len(devices_of({f"example.com/gpu-{n:05}": "1" for n in range(10_000)})) == MOST_NAMES


def test_the_containers_of_a_pod_are_added_up() -> None:
    container = {"resources": {"limits": {"nvidia.com/gpu": "4"}, "requests": {"nvidia.com/gpu": "4"}}}
    assert of_containers([container, container, {}, {"resources": None}]) == (("nvidia.com/gpu", 8),)


def test_a_claim_made_for_the_pod_counts_by_its_requests_and_a_shared_one_does_not() -> None:
    claims = [{"name": "own", "resourceClaimTemplateName": "gpus"}, {"name": "shared", "resourceClaimName": "one"}]
    asks = [{"name": "own", "request": "a"}, {"name": "own", "request": "b"}, {"name": "shared"}, {"name": "none"}]
    containers = [{"resources": {"claims": asks}}, {"resources": {"claims": asks[:1]}}]
    assert of_containers(containers, claims) == ((CLAIMS, 2),)


def test_devices_are_added_up_by_name() -> None:
    gpus, more = (("amd.com/gpu", 2),), (("amd.com/gpu", 1), ("google.com/tpu", 4))
    assert total([(gpus, 3), (more, 2)]) == (("amd.com/gpu", 8), ("google.com/tpu", 8))
