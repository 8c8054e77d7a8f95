"""musterd runs with one arena of glibc's allocator, however it is started."""

import re
import sys
from pathlib import Path

import msgspec
import pytest
import yaml

from muster.cli.processes.stack import Child, ChildEnded, local_stack
from muster.local.home import Announcement, Home
from tests.packaging.conftest import ROOT

WANTED = {"MALLOC_ARENA_MAX": "1"}


def test_the_image_sets_the_arenas() -> None:
    set_by_image = re.findall(r"^ENV (MALLOC_\w+)=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert dict(set_by_image) == WANTED


def test_the_chart_sets_the_arenas() -> None:
    objects = yaml.safe_load_all((ROOT / "deploy/musterd.yaml").read_text())
    (deployment,) = (each for each in objects if each and each["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {each["name"]: each["value"] for each in container["env"] if "value" in each} == WANTED


async def test_the_local_cluster_sets_the_arenas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environments: dict[str, dict[str, str]] = {}

    class Started:
        """The cluster process, as far as the stack looks at it before it starts musterd."""

        async def announcement(self, _seconds: float) -> bytes:
            return msgspec.json.encode(
                Announcement(pid=1, url="", kubeconfig="", state="", isolation="none", started=0.0)
            )

        async def stop(self) -> None: ...

    async def start(name: str, *_program: object, environ: dict[str, str] | None = None, **_options: object) -> Started:
        environments[name] = environ or {}
        if name == "daemon":
            raise ChildEnded("not started here")
        return Started()

    monkeypatch.setattr(Child, "start", start)
    with pytest.raises(ChildEnded):
        async with local_stack(Home(tmp_path), lambda _line: None):
            pass
    assert environments == {"cluster": {}, "daemon": WANTED}


async def test_a_child_has_the_environment_that_it_is_given_and_that_of_its_parent(tmp_path: Path) -> None:
    program = "import os; print(os.environ['MALLOC_ARENA_MAX'], os.environ['HOME_OF_TEST'], flush=True)"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME_OF_TEST", "here")
        command = [sys.executable, "-c", program]
        child = await Child.start("thing", command, tmp_path / "log", announces=True, environ=WANTED)
    assert await child.announcement(20) == b"1 here\n"
    await child.process.wait()
