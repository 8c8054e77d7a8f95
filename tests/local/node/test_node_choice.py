"""Which isolation is taken, which images exist, which limits hold: what the machine and the manifest permit."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.local.node import Isolation, choose_isolation
from muster.local.node.containers.images import missing
from muster.local.node.isolation.cgroups import Cgroups


def test_the_best_that_works_is_taken_and_every_refusal_told() -> None:
    refused = {Isolation.NETNS: "needs root", Isolation.MNT: "no user namespaces"}
    choice = choose_isolation(refused.get)
    assert choice.isolation is Isolation.NSS
    assert str(choice) == "nss (no netns: needs root; no mnt: no user namespaces)"


def test_something_always_works() -> None:
    choice = choose_isolation(lambda isolation: None if isolation is Isolation.REWRITE else "no")
    assert choice.isolation is Isolation.REWRITE


@pytest.mark.parametrize(
    ("image", "is_missing"),
    [
        ("missing/jax:1", True),
        ("registry.example.com/missing:latest", True),
        ("muster.local/missing", True),
        ("muster.local/python:3", False),
        ("registry.example.com/not-missing:1", False),
        ("", False),
    ],
)
def test_one_family_of_images_does_not_exist(image: str, is_missing: bool) -> None:
    assert missing(image) is is_missing


@pytest.mark.parametrize("version", [1, 2])
def test_a_cgroup_is_made_limited_read_and_removed(tmp_path: Path, version: int) -> None:
    if version == 2:
        (tmp_path / "cgroup.controllers").write_text("cpu memory")
    else:
        (tmp_path / "memory").mkdir()
        (tmp_path / "memory" / "memory.limit_in_bytes").write_text("")
    groups = Cgroups("muster-1", tmp_path)
    group = groups.make("pod-main-0", 1000)
    assert group is not None
    limit = group.folder / ("memory.max" if version == 2 else "memory.limit_in_bytes")
    assert limit.read_text() == "1000"
    assert not group.out_of_memory()
    group.events.write_text("low 0\noom_kill 1\n")
    assert group.out_of_memory()


def test_without_a_memory_hierarchy_there_is_no_cgroup_and_no_error(tmp_path: Path) -> None:
    assert Cgroups("muster-1", tmp_path).make("pod-main-0", 1000) is None
