"""Which devices are accelerators."""

import re

import pytest

from muster.api.values.accelerators import DEFAULT, PATTERN, USUAL, Accelerators, words


@pytest.mark.parametrize(
    "name", ["nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "nvidia.com/mig-1g.10gb", "aws.amazon.com/neuroncore"]
)
def test_the_usual_accelerators(name: str) -> None:
    assert USUAL.has(name)


@pytest.mark.parametrize("name", ["rdma/hca", "smarter-devices/fuse", "example.com/gpus", "nvidia.com/gpu-cards"])
def test_other_devices_are_none(name: str) -> None:
    assert not USUAL.has(name)


def test_a_list_of_the_installation_replaces_the_usual_one() -> None:
    found = Accelerators.of_list("example.com/wafer,*/npu,graphcore.ai/*")
    devices = (("example.com/wafer", 1), ("graphcore.ai/ipu", 4), ("huawei.com/npu", 2), ("nvidia.com/gpu", 8))
    assert found.of(devices) == {"example.com/wafer": 1, "graphcore.ai/ipu": 4, "huawei.com/npu": 2}
    assert found.count(devices) == 7


@pytest.mark.parametrize("text", [DEFAULT, "", "nvidia.com/gpu", "*/gpu,nvidia.com/mig-*"])
def test_the_setting_takes_lists_of_names_and_patterns(text: str) -> None:
    assert re.match(PATTERN, text)


@pytest.mark.parametrize("text", ["a b", "nvidia.com/*gpu", "*/gpu,,x", "x\n"])
def test_the_setting_refuses_what_could_never_match(text: str) -> None:
    assert not re.fullmatch(PATTERN, text)


def test_one_kind_is_a_number_and_several_are_named() -> None:
    assert words({}) == ""
    assert words({"nvidia.com/gpu": 64}) == "64"
    assert words({"amd.com/gpu": 8, "nvidia.com/gpu": 64}) == "8 amd.com/gpu, 64 nvidia.com/gpu"
