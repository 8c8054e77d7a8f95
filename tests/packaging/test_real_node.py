"""What `make real-node` needs, makes and leaves, as far as it can be seen without root."""

import os
from pathlib import Path

import pytest

from tests.real_node import leftovers
from tests.real_node.machine import cgroups
from tests.real_node.machine.machine import PREFIX
from tests.real_node.programs import modules

NO_PROCESS = 99_999_999
"""A process id that the kernel does not give."""


def test_a_run_that_was_killed_leaves_nothing_after_the_next_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hierarchy = tmp_path / "groups" / "memory"
    hierarchy.mkdir(parents=True)
    (hierarchy / "tasks").touch()
    dead, living, foreign = f"{PREFIX}{NO_PROCESS}-node-1", f"{PREFIX}{os.getpid()}-node-1", "kubepods"
    for name in (dead, living, foreign):
        (hierarchy / name / "kubepods" / "pod1").mkdir(parents=True)
        (tmp_path / name).mkdir()
    monkeypatch.setattr(cgroups, "ROOT", tmp_path / "groups")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    leftovers.remove()
    assert sorted(each.name for each in hierarchy.iterdir() if each.is_dir()) == sorted((living, foreign))
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted((living, foreign, "groups"))


def test_kubelet_and_control_plane_are_of_one_release() -> None:
    kubelet = next(each for each in modules() if "kubelet" in each.packages)
    plane = Path("tests/real/control_plane/go.mod").read_text(encoding="utf-8")
    assert f"k8s.io/kubernetes {kubelet.pinned('k8s.io/kubernetes')}\n" in plane
