"""The plugin for kubectl: its manifest names the archive that is built, and its launcher runs the version of both."""

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

import muster
from deploy.krew.__main__ import ROOT, write

FOLDER = ROOT / "deploy" / "krew"


@pytest.fixture
def spec() -> dict[str, Any]:
    manifest: dict[str, Any] = yaml.safe_load((FOLDER / "muster.yaml").read_text(encoding="utf-8"))
    found: dict[str, Any] = manifest["spec"]
    return found


def test_the_manifest_has_name_version_and_sum_of_the_archive_that_is_built(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    archive = write(tmp_path)
    (platform,) = spec["platforms"]
    assert spec["version"] == f"v{muster.__version__}"
    assert platform["uri"].endswith(f"/v{muster.__version__}/{archive.name}")
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    with ZipFile(archive) as opened:
        modes = {each.filename: each.external_attr >> 16 & 0o777 for each in opened.infolist()}
    assert modes == {each["from"]: 0o755 if each["from"] == platform["bin"] else 0o644 for each in platform["files"]}


@pytest.mark.parametrize(
    ("there", "runs"),
    [
        (("muster", "uvx", "pipx"), "muster diagnose job/train"),
        (("uvx", "pipx"), f"uvx --quiet --from musterd[cli]=={muster.__version__} muster diagnose job/train"),
        (("pipx",), f"pipx run --spec musterd[cli]=={muster.__version__} muster diagnose job/train"),
        ((), ""),
    ],
)
def test_the_launcher_runs_what_is_there(tmp_path: Path, there: tuple[str, ...], runs: str) -> None:
    for name in there:
        program = tmp_path / name
        program.write_text('#!/bin/sh\necho "${0##*/}" "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    launcher = ["/bin/sh", str(FOLDER / "kubectl-muster"), "diagnose", "job/train"]
    done = subprocess.run(launcher, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == (runs, 0 if runs else 127)
    assert ("needs Python 3.11 and uv or pipx" in done.stderr) == (not runs)
    assert os.access(FOLDER / "kubectl-muster", os.X_OK)
