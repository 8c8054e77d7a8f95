"""The image is what the chart expects: no root, nothing to write to, nothing that musterd does not need."""

import asyncio
import contextlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

import aiohttp
import pytest

from deploy.image.locks import RUNTIME
from muster.cli.processes.stack import free_port
from tests.e2e.environment import environment
from tests.packaging.image import Buildah, Unavailable, why_not

USER = 65532
MIB = 2**20
LARGEST = 200 * MIB
"""Bytes that the image may add to its base."""
READY_SECONDS = 60.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("image"),
    pytest.mark.skipif(bool(why_not()), reason=f"the image cannot be built here: {why_not()}"),
]


@dataclass(frozen=True, slots=True)
class Image:
    """The built image, and a container of it whose files can be read."""

    buildah: Buildah
    name: str
    container: str
    files: Path


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """Build it once for this file."""
    folder = tmp_path_factory.mktemp("image")
    buildah = Buildah(folder)
    try:
        buildah.base()
    except Unavailable as reason:
        pytest.skip(str(reason))
    buildah.build("musterd:test")
    container = buildah("from", "--pull-never", "musterd:test")
    yield Image(buildah, "musterd:test", container, Path(buildah("mount", container)))
    buildah("umount", container)
    buildah("rm", container)
    shutil.rmtree(folder, ignore_errors=True)


def test_it_runs_musterd_as_a_user_that_kubernetes_can_check(image: Image) -> None:
    config = image.buildah.config(image.name)
    assert (config["User"], config["Entrypoint"]) == (f"{USER}:{USER}", ["musterd"])
    assert next(each for each in config["Env"] if each.startswith("PATH=")).startswith("PATH=/opt/muster/bin:")


def test_its_user_can_write_nothing_but_to_the_folders_for_temporary_files(image: Image) -> None:
    writable = {
        str(path.relative_to(image.files))
        for path in image.files.rglob("*")
        if _writable(path.lstat(), path.is_symlink())
    }
    assert {path for path in writable if not path.startswith(("dev/", "proc/", "sys/"))} <= {
        "tmp",
        "var/tmp",
        "run/lock",
    }


def _writable(found: os.stat_result, link: bool) -> bool:
    return not link and (found.st_uid == USER or found.st_gid == USER or bool(found.st_mode & stat.S_IWOTH))


def test_it_holds_the_packages_of_the_lock_file_and_no_others(image: Image) -> None:
    site = next(image.files.glob("opt/muster/lib/python*/site-packages"))
    found = {each.name.lower().replace("_", "-"): each.version for each in distributions(path=[str(site)])}
    assert found.pop("musterd")
    assert found == RUNTIME.pins


def test_it_adds_less_than_200_mib_to_its_base(image: Image, capsys: pytest.CaptureFixture[str]) -> None:
    added = sum(path.lstat().st_size for path in (image.files / "opt" / "muster").rglob("*") if not path.is_dir())
    with capsys.disabled():
        sys.stdout.write(f"\nthe image adds {added / MIB:.0f} MiB to its base ")
    assert 0 < added <= LARGEST


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """A folder that the image's user may read."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    tmp_path.chmod(0o755)
    return folder


async def test_it_becomes_ready_on_a_cluster(image: Image, mounted: Path, tmp_path: Path) -> None:
    port, health = free_port(), free_port()
    async with environment(tmp_path / "cluster") as running:
        shutil.copy(running.cluster.kubeconfig, mounted / "kubeconfig")
        (mounted / "kubeconfig").chmod(0o644)
        options = ("--isolation", "chroot", "--user", f"{USER}:{USER}", "--volume", f"{mounted}:/etc/musterd:ro")
        arguments = ("--kubeconfig", "/etc/musterd/kubeconfig", "--http-port", str(port), "--health-port", str(health))
        command = image.buildah.command("run", *options, image.container, "--", "musterd", *arguments)
        process = await asyncio.create_subprocess_exec(
            *command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            assert await _ready(health, process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.communicate()


async def _ready(port: int, process: asyncio.subprocess.Process) -> bool:
    """Ask /readyz until it answers 200; False if musterd ends before."""
    async with asyncio.timeout(READY_SECONDS), aiohttp.ClientSession() as session:
        while process.returncode is None:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(f"http://127.0.0.1:{port}/readyz") as answer:
                    if answer.status == 200:
                        return True
            await asyncio.sleep(0.2)  # a process that opens its port does not say so
    return False
