"""A shell in which the commands of a page work; each ``muster`` in it is forked."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.docs.pages import Shell
from tests.examples.table import JAX_ON_CPU
from tests.processes.forked import write_command
from tests.processes.local_up import cleared, local_up


@pytest.fixture(scope="session")
def on_a_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mapping[str, str], Path]]:
    """The environment of commands that find the one cluster of all pages, and the folder in which its pods begin."""
    home, work = tmp_path_factory.mktemp("pages"), tmp_path_factory.mktemp("work")
    environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "NO_COLOR")}
    environment |= {"MUSTER_HOME": str(home / "home"), "HOME": str(home), **JAX_ON_CPU}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    with local_up(environment, work):
        yield environment, work


@pytest.fixture
def shell(on_a_cluster: tuple[Mapping[str, str], Path], tmp_path: Path) -> Iterator[Shell]:
    """A shell in which ``muster`` works on that cluster; its folder is empty at first, and its home is its own."""
    environment, work = on_a_cluster
    requests = write_command(tmp_path / "muster", "muster.cli")
    own = {"HOME": str(tmp_path), "PATH": f"{tmp_path}:{environment['PATH']}"}
    with cleared(environment):
        yield Shell({**environment, **own}, work, requests)
    for each in work.iterdir():
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
