"""What is a fault of the node in the words of runtime and kubelet, and what is its tenant's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.state.vocabulary.node_faults import LONGEST, disk_is_full, driver_fault, pressure
from tests.fleet_hours import messages as say

QUOTED = ("exec: {}: no such file", "chdir to cwd ({}) set in config.json failed: not a directory", "open {")


@pytest.mark.parametrize("text", [say.MISMATCH, say.NOT_LOADED, say.GPU_LOST, say.DRIVER_SILENT])
def test_the_driver_of_the_node_is_named_in_the_words_of_the_runtime(text: str) -> None:
    found = driver_fault(text)
    assert found.startswith("nvidia-container-cli: ")
    assert found in text
    assert driver_fault(found) == found


@pytest.mark.parametrize("text", [say.UNMET, say.NO_DEVICE, say.FORGED, "CUDA error: driver/library version mismatch"])
def test_what_a_tenant_asks_for_or_prints_is_no_fault_of_the_driver(text: str) -> None:
    assert driver_fault(text) == ""


@pytest.mark.parametrize(
    "fault", [say.MISMATCH.rpartition("\n")[2], "mkdir /var/lib/containerd/x: no space left on device"]
)
@pytest.mark.parametrize("how", QUOTED)
def test_what_is_quoted_is_never_read(how: str, fault: str) -> None:
    words = how.replace("{}", f'"{fault}"') if "{}" in how else f'open "\\"{fault}'
    assert not driver_fault(words)
    assert not disk_is_full(words)


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        (say.LOW, "ephemeral-storage"),
        (say.LOW_INODES, "inodes"),
        (say.LOW_MEMORY, ""),
        (say.OWN_LIMIT, ""),
        (f"the program prints: {say.LOW}", ""),
    ],
)
def test_a_node_low_on_disk_is_named_and_memory_and_the_limit_of_the_pod_are_none(text: str, resource: str) -> None:
    assert pressure(text) == resource


@pytest.mark.parametrize(
    ("text", "full"),
    [
        (say.NO_SPACE, True),
        (say.NO_SPACE_TO_PULL, True),
        (say.OWN_DISK, False),
        ("write /data/checkpoint: no space left on device", False),
    ],
)
def test_the_full_disk_of_a_node_is_known_by_a_directory_of_the_runtime(text: str, full: bool) -> None:
    assert disk_is_full(text) is full


@given(st.text(max_size=300) | st.text('"\\nvidia-container-cli: error/varlib ', max_size=LONGEST))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(driver_fault(text), str)
    assert isinstance(disk_is_full(text), bool)
