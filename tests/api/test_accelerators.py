"""What of a container's resources is a device, which of them are accelerators, and how many are believed."""

import re
from typing import Any

import pytest

from muster.api.values.accelerators import (
    CLAIMS,
    DEFAULT,
    MOST_NAMES,
    MOST_OF_ONE,
    PATTERN,
    USUAL,
    Accelerators,
    Devices,
    devices_of,
    of_containers,
    total,
    words,
)


def test_the_usual_accelerators_and_no_other_devices() -> None:
    usual = ("nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "nvidia.com/mig-1g.10gb", "aws.amazon.com/neuroncore")
    others = ("rdma/hca", "smarter-devices/fuse", "example.com/gpus", "nvidia.com/gpu-cards")
    assert [name for name in (*usual, *others) if USUAL.has(name)] == [*usual]


def test_a_list_of_the_installation_replaces_the_usual_one() -> None:
    found = Accelerators.of_list("example.com/wafer,*/npu,graphcore.ai/*")
    devices = (("example.com/wafer", 1), ("graphcore.ai/ipu", 4), ("huawei.com/npu", 2), ("nvidia.com/gpu", 8))
    assert found.of(devices) == {"example.com/wafer": 1, "graphcore.ai/ipu": 4, "huawei.com/npu": 2}
    assert found.count(devices) == 7


@pytest.mark.parametrize("text", [DEFAULT, "", "nvidia.com/gpu", "*/gpu,nvidia.com/mig-*"])
def test_the_setting_takes_lists_of_names_and_patterns(text: str) -> None:
    assert re.fullmatch(PATTERN, text)


@pytest.mark.parametrize("text", ["a b", "nvidia.com/*gpu", "*/gpu,,x", "x\n"])
def test_the_setting_refuses_what_could_never_match(text: str) -> None:
    assert not re.fullmatch(PATTERN, text)


def test_one_kind_is_a_number_and_several_are_named() -> None:
    assert words({}) == ""
    assert words({"nvidia.com/gpu": 64}) == "64"
    assert words({"amd.com/gpu": 8, "nvidia.com/gpu": 64}) == "8 amd.com/gpu, 64 nvidia.com/gpu"


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


def test_a_claim_whose_name_is_no_text_counts_for_nothing() -> None:
    assert (
        of_containers([{"resources": {"claims": [{"name": []}]}}], [{"name": [], "resourceClaimTemplateName": "a"}])
        == ()
    )


def test_devices_are_added_up_by_name() -> None:
    gpus, more = (("amd.com/gpu", 2),), (("amd.com/gpu", 1), ("google.com/tpu", 4))
    assert total([(gpus, 3), (more, 2)]) == (("amd.com/gpu", 8), ("google.com/tpu", 8))
