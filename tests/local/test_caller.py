"""The environment of the caller, for the pods of its experiment."""

import stat
from pathlib import Path
from typing import Any

import pytest

from muster.local.home import Caller, read_caller, write_caller


def pod(experiment: str | None, namespace: str = "default") -> dict[str, Any]:
    labels = {} if experiment is None else {"muster.dev/experiment": experiment}
    return {"metadata": {"name": "p", "namespace": namespace, "labels": labels}}


CALLER = Caller({"A": "1", "BYTES": "\udcff\n"}, Path("/project"))


def test_only_pods_of_the_experiment_get_the_callers_environment(tmp_path: Path) -> None:
    with write_caller(tmp_path / "callers", "default", "mine", CALLER):
        assert read_caller(tmp_path / "callers", pod("mine")) == CALLER
        others: list[dict[str, Any]] = [pod("yours"), pod("mine", "team"), pod(None), {"metadata": {}}]
        assert [read_caller(tmp_path / "callers", other) for other in others] == [None] * 4


def test_the_file_is_private_and_removed_afterwards(tmp_path: Path) -> None:
    folder = tmp_path / "callers"
    with write_caller(folder, "default", "mine", CALLER) as file:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()) == []
    assert read_caller(folder, pod("mine")) is None


@pytest.mark.parametrize("label", ["..", ".", "a.b"])
def test_a_label_cannot_name_a_file_in_another_folder(tmp_path: Path, label: str) -> None:
    with write_caller(tmp_path / "callers", "default", label, CALLER) as file:
        assert file.parent == tmp_path / "callers"
        assert read_caller(tmp_path / "callers", pod(label)) == CALLER
