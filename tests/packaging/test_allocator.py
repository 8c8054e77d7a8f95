"""musterd runs with one arena of glibc's allocator, however it is started."""

import re
import sys
from pathlib import Path

import pytest
import yaml

from muster.cli.processes.stack import DAEMON_ENVIRON, Child
from tests.packaging.conftest import ROOT

WANTED = {"MALLOC_ARENA_MAX": "1"}


def test_the_image_the_chart_and_the_local_cluster_set_the_arenas() -> None:
    assert DAEMON_ENVIRON == WANTED
    set_by_image = re.findall(r"^ENV (MALLOC_\w+)=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert dict(set_by_image) == WANTED
    objects = yaml.safe_load_all((ROOT / "deploy/musterd.yaml").read_text())
    (deployment,) = (each for each in objects if each and each["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {each["name"]: each["value"] for each in container["env"] if "value" in each} == WANTED


async def test_a_child_has_the_environment_that_it_is_given_and_that_of_its_parent(tmp_path: Path) -> None:
    program = "import os; print(os.environ['MALLOC_ARENA_MAX'], os.environ['HOME_OF_TEST'], flush=True)"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME_OF_TEST", "here")
        command = [sys.executable, "-c", program]
        child = await Child.start("thing", command, tmp_path / "log", announces=True, environ=WANTED)
    assert await child.announcement(20) == b"1 here\n"
    await child.process.wait()
