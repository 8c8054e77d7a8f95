"""``muster init``: a manifest to start from, for every operator."""

import re
from pathlib import Path

import pytest

from muster.api.manifest.load import load_manifest
from muster.api.manifest.operators import operators
from muster.cli.commands.files.init import starter
from muster.cli.manifests import Manifest
from tests.cli.conftest import Call, stderr_of
from tests.frameworks.__main__ import LOCK


@pytest.mark.parametrize("operator", [*operators()])
def test_the_manifest_has_no_problems(call: Call, tmp_path: Path, operator: str) -> None:
    file = tmp_path / "new.yaml"
    assert call("init", "--operator", operator, file).exit_code == 0
    result = call("lint", file)
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize("operator", [*operators()])
def test_every_field_that_is_commented_out_is_valid(operator: str) -> None:
    text = starter(operator)
    uncommented = re.sub(r"^( *)#(?=[\w-])", r"\1", text, flags=re.MULTILINE)
    assert uncommented != text
    loaded = load_manifest(uncommented)
    assert (loaded.spec.operator, loaded.warnings) == (operator, ())
    assert loaded.spec.storage is not None
    assert loaded.spec.storage.attach_existing_pvcs[0].mount_point == "/mnt/datasets"


@pytest.mark.parametrize("operator", [*operators()])
def test_a_manifest_says_who_knows_which_ranks_have_arrived_as_the_plan_does(operator: str) -> None:
    asked = Manifest("", "", load_manifest(starter(operator))).plan(name="e").asked is not None
    assert ("counts as arrived when its pod is ready" if asked else "Muster asks") not in starter(operator)


def test_the_version_of_ray_in_its_manifest_is_the_one_that_the_tests_run() -> None:
    (pinned,) = re.findall(r"^ray==(\S+)", LOCK.read_text(), re.MULTILINE)
    assert f'rayVersion: "{pinned}"\n' in starter("kuberay")


def test_the_default_is_a_jax_manifest_in_this_directory(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "muster lint manifest.yaml" in stderr_of(call, 0, "init")
    assert (tmp_path / "manifest.yaml").read_text() == starter("jax")


def test_a_file_that_exists_is_not_overwritten_and_one_that_cannot_be_written_is_an_error(
    call: Call, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine")
    for path, why in (
        (file, "exists already; name another file"),
        (tmp_path / "nowhere" / "new.yaml", "cannot be written: No such file or directory"),
    ):
        result = call("init", path)
        assert (result.exit_code, why in result.stderr) == (1, True)
    assert file.read_text() == "mine"


def test_a_dash_is_standard_output(call: Call) -> None:
    result = call("init", "--operator", "jobset", "-")
    assert (result.stdout, result.stderr) == (starter("jobset"), "")
