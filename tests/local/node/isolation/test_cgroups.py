"""Memory limits by cgroup."""

from pathlib import Path

import pytest

from muster.local.node.isolation.cgroups import PIDS, Cgroups


@pytest.mark.parametrize("version", [1, 2])
def test_a_cgroup_has_the_limit_and_reports_oom_kills(tmp_path: Path, version: int) -> None:
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
    if version == 2:
        assert (group.folder / "pids.max").read_text() == str(PIDS)
    assert not group.out_of_memory()
    group.events.write_text("low 0\noom_kill 1\n")
    assert group.out_of_memory()


def test_without_a_memory_hierarchy_no_cgroup_is_created(tmp_path: Path) -> None:
    assert Cgroups("muster-1", tmp_path).make("pod-main-0", 1000) is None
