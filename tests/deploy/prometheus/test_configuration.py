"""The shipped configurations are valid, and the silences of the list of alerts work on a real Alertmanager."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
import yaml

from deploy.prometheus.groups import ALERTS
from deploy.prometheus.pages import RUN, SILENCED
from deploy.prometheus.row import GIVEN
from deploy.prometheus.values import INTERVAL
from muster.cli.processes.stack import free_port
from tests.deploy.prometheus.binaries import Program, needed, program
from tests.deploy.prometheus.live.pipeline import SHIPPED, serve

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def the_programs_are_there() -> None:
    needed("promtool")
    needed("alertmanager")
    needed("amtool")


def test_the_configuration_of_prometheus_is_valid(tmp_path: Path) -> None:
    """Debian's Prometheus is built without the discovery of Kubernetes, which is left out here."""
    settings = yaml.safe_load((SHIPPED / "prometheus.yaml").read_text())
    (job,) = settings["scrape_configs"]
    del job["kubernetes_sd_configs"]
    del settings["rule_files"]
    (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(settings))
    checked = run("promtool", "check", "config", "--syntax-only", str(tmp_path / "prometheus.yaml"))
    assert checked.returncode == 0, checked.stderr


def test_the_configuration_of_alertmanager_is_valid() -> None:
    checked = run("amtool", "check-config", str(SHIPPED / "alertmanager.yaml"))
    assert checked.returncode == 0, checked.stderr


def test_the_steps_to_a_report_add_up_to_less_than_30_s() -> None:
    (job,) = yaml.safe_load((SHIPPED / "prometheus.yaml").read_text())["scrape_configs"]
    route = yaml.safe_load((SHIPPED / "alertmanager.yaml").read_text())["route"]
    condition = 10
    steps = [seconds(job["scrape_interval"]), seconds(INTERVAL), seconds(route["group_wait"])]
    assert condition + sum(steps) < 30
    assert job["honor_labels"] is True
    assert job["job_name"] == GIVEN["job"]


async def test_every_silence_of_the_list_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "alertmanager.yaml").write_bytes((SHIPPED / "alertmanager.yaml").read_bytes())
    port = free_port()
    async with serve("alertmanager", tmp_path, port):
        url = f"--alertmanager.url=http://127.0.0.1:{port}"
        for alert in ALERTS:
            labels = (f"alertname={alert.name}", *(f"{label}=a" for label in SILENCED.get(alert.name, RUN)))
            words = "silence", "add", "--duration=2h", "--comment=why", *labels
            added = await asyncio.to_thread(run, "amtool", *words, "--author=test", url)
            assert added.returncode == 0, f"{alert.name}: {added.stderr}"
        listed = await asyncio.to_thread(run, "amtool", "silence", "query", "--output=json", url)
    silenced = {matcher["value"] for each in json.loads(listed.stdout) for matcher in each["matchers"]}
    assert {alert.name for alert in ALERTS} <= silenced


def run(name: Program, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(program(name)), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def seconds(duration: str) -> int:
    assert duration.endswith("s")
    return int(duration.removesuffix("s"))
