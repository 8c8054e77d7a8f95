"""A kind that is there already, of another release or of kubectl: helm refuses it, and docs/chart.md names the ways on.

Helm looks for what is there before it writes, so it is asked with ``--dry-run=server``; it asks a local API server, and
of the chart it gets the kind alone.
"""

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from deploy.helm.copies import CHART
from muster.api.schema.crd import custom_resource_definition
from muster.local.apiserver import ApiServer
from muster.local.home import write_kubeconfig
from tests.real.ground import ROOT

pytestmark = pytest.mark.slow

Install = Callable[..., Coroutine[Any, Any, str]]
"""Install under a name with options; what helm writes to stderr, nothing where it installs."""
PAGE = (ROOT / "docs" / "chart.md").read_text(encoding="utf-8")
(SECTION,) = re.findall(r"^## The kind Experiment\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
REFUSED = "invalid ownership metadata"
LEFT = {
    "by kubectl": {},
    "by the release first": {
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "first", "meta.helm.sh/release-namespace": "default"},
    },
}
"""The metadata of the kind, as kubectl or a release leaves it."""


@pytest.fixture(params=LEFT)
async def install(request: pytest.FixtureRequest, helm: Path, tmp_path: Path) -> AsyncIterator[Install]:
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    for file in (chart / "templates").rglob("*.*"):
        if file.name != "crd.yaml" and file.suffix != ".tpl":
            file.unlink()
    api = ApiServer(None)
    write_kubeconfig(tmp_path / "kubeconfig", url=await api.start(), token="")
    definition = custom_resource_definition()
    definition["metadata"] |= LEFT[request.param]
    api.store.ensure(api.store.resource("apiextensions.k8s.io/v1", "customresourcedefinitions"), "", definition)
    homes = {f"HELM_{each}_HOME": str(tmp_path / "helm") for each in ("CACHE", "CONFIG", "DATA")}

    async def asked(name: str, *options: str) -> str:
        where = ("--kubeconfig", str(tmp_path / "kubeconfig"), "--namespace", "default", "--dry-run=server")
        command = [str(helm), "install", name, str(chart), *where, *options]
        done = await asyncio.to_thread(
            subprocess.run, command, env={**os.environ, **homes}, capture_output=True, text=True, check=False
        )
        assert (done.returncode == 0) == (done.stderr == "")
        return done.stderr

    yield asked
    await api.stop()


async def test_helm_refuses_it_in_the_words_that_the_page_quotes(install: Install) -> None:
    assert REFUSED in await install("second")
    assert f"`{REFUSED}`" in SECTION


async def test_each_way_that_the_page_names_installs_beside_it(install: Install) -> None:
    ways = re.findall(r"`(--[^`]+)`", SECTION)
    assert len(ways) == 2
    assert [await install("second", *way.split()) for way in ways] == ["", ""]
