"""The core runs without any extra; a command whose extra is missing says which one, in one line."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from muster.entry import UNAVAILABLE
from muster.extras import MODULES, pip_argument
from tests.packaging.conftest import ROOT, Environment

pytestmark = pytest.mark.xdist_group("packaging")

OPTIONAL = {"pyroute2"}
"""Modules of extras that the code does without."""

IMPORT_THE_CORE = """
import importlib, pkgutil
for package in ("muster.api", "muster.client", "muster.jax", "muster.reporting", "muster.torch", "muster.xgboost"):
    module = importlib.import_module(package)
    for found in pkgutil.walk_packages(module.__path__, package + "."):
        importlib.import_module(found.name)
"""


def blocked(code: str, *modules: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process where these modules cannot be imported."""
    block = "".join(f"sys.modules[{module!r}] = None\n" for module in modules)
    program = [sys.executable, "-c", f"import sys\n{block}{code}"]
    return subprocess.run(program, cwd=ROOT, env=os.environ | environ, capture_output=True, text=True, check=False)


def test_the_core_imports_without_any_module_of_an_extra() -> None:
    done = blocked(IMPORT_THE_CORE, *MODULES["local"])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("command", "extra", "module"),
    [
        ("muster", "cli", "rich"),
        ("muster", "cli", "click"),
        ("musterd", "daemon", "h2"),
        ("musterd", "daemon", "prometheus_client"),
        ("musterd", "daemon", "structlog"),
    ],
)
def test_a_command_without_its_extra_says_which_to_install(command: str, extra: str, module: str) -> None:
    done = blocked(f"sys.argv = [{command!r}, '--help']\nfrom muster.entry import {command}\n{command}()", module)
    assert done.returncode == UNAVAILABLE
    assert done.stderr == f"{command}: not installed: {module}; run: pip install '{pip_argument(extra)}'\n"
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["muster run examples/jax/manifest.yaml", "muster local up"])
def test_the_local_cluster_without_its_extra_says_which_to_install(command: str, tmp_path: Path) -> None:
    code = f"sys.argv = {command.split()!r}\nfrom muster.entry import muster\nmuster()"
    done = blocked(code, "click", "structlog", "trustme", MUSTER_HOME=str(tmp_path))
    assert done.returncode == UNAVAILABLE
    said = f"muster: not installed: click, structlog, trustme; run: pip install '{pip_argument('local')}'\n"
    assert done.stderr == said


@pytest.mark.parametrize(
    ("origin", "asked"),
    [
        (None, "musterd[cli]"),
        ("{}", "musterd[cli]"),
        ("not JSON", "musterd[cli]"),
        ('{"url": "file:///clone", "dir_info": {"editable": true}}', "musterd[cli] @ file:///clone"),
        ('{"url": "https://git.host/m.git", "vcs_info": {"vcs": "git"}}', "musterd[cli] @ git+https://git.host/m.git"),
    ],
)
def test_pip_is_asked_for_the_distribution_where_it_came_from(
    origin: str | None, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.Distribution.read_text", lambda *_: origin, raising=False)
    monkeypatch.setattr("importlib.metadata.PathDistribution.read_text", lambda *_: origin)
    assert pip_argument("cli") == asked


@pytest.mark.slow
def test_the_table_of_modules_is_that_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra, listed in MODULES.items():
        packages = {module.partition(".")[0] for module in listed}
        requirements = list(closure(project["optional-dependencies"], extra))
        assert requirements
        for requirement in requirements:
            named = modules_of(requirement) & {*packages, *OPTIONAL}
            assert named, f"{extra}: no module of {requirement} is listed"
        brought = set().union(*map(modules_of, requirements))
        assert packages <= brought, extra


def closure(extras: dict[str, list[str]], name: str) -> Iterator[str]:
    """The requirements of an extra, with those of the extras it includes."""
    for requirement in extras[name]:
        included = re.fullmatch(r"musterd\[(.*)\]", requirement)
        if included is None:
            yield requirement
            continue
        for other in included[1].split(","):
            yield from closure(extras, other)


def modules_of(requirement: str) -> set[str]:
    """The top-level modules that a requirement installs."""
    wanted = normal(re.split(r"[><=\[ ]", requirement)[0])
    return {module for module, names in packages_distributions().items() if wanted in map(normal, names)}


def normal(name: str) -> str:
    """A distribution's name in its normal form (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.slow
def test_the_wheel_without_extras_serves_the_sdk_and_names_the_extra_of_each_command(
    wheel: Path, bare: Callable[[str], Environment]
) -> None:
    environment = bare("msgspec")
    installed = environment.install(str(wheel))
    assert installed.returncode == 0, installed.stderr
    done = environment.python(IMPORT_THE_CORE)
    assert done.returncode == 0, done.stderr
    for absent in MODULES["local"]:
        assert environment.python(f"import {absent}").returncode != 0, absent
    for command, extra in (("muster", "cli"), ("musterd", "daemon")):
        shown = environment.run(command, "--help")
        assert shown.returncode == UNAVAILABLE, shown.stderr
        missing = ", ".join(MODULES[extra])
        origin = f"musterd[{extra}] @ {wheel.as_uri()}"
        assert shown.stderr == f"{command}: not installed: {missing}; run: pip install '{origin}'\n"
