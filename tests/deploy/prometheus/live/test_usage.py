"""``muster usage`` asks a real Prometheus: restarts, leaders, shards and second scrapes count each hour once."""

import asyncio
import json
import subprocess
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from click.testing import CliRunner, Result

from muster.cli.main import muster
from muster.cli.processes.stack import free_port
from tests.deploy.prometheus.binaries import needed
from tests.deploy.prometheus.live.pipeline import serve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

HOUR, STEP, BACK = 3600, 120, 47
"""Seconds, seconds between two scrapes, and how many hours ago musterd was installed."""
GPU, TPU = 'resource="nvidia.com/gpu"', 'resource="google.com/tpu"'
X, Y, Z = 'instance="x:8080",pod="x"', 'instance="y:8080",pod="y"', 'instance="z:8080",pod="z",shard="b"'
"""Two replicas, and the musterd of another shard."""
JOBS = ('job="one"', 'job="two",prometheus_replica="2"')

Value = Callable[[float], float | None]
"""The value at an hour since the installation; None where nothing is scraped."""


def rising(rate: float, begin: float, end: float, base: float = 0.0, last: float = BACK) -> Value:
    """So much a second from one hour to another, and then the same until the last."""
    return lambda hour: base + rate * HOUR * max(0.0, min(hour, end) - begin) if hour <= last else None


def restarted(hour: float) -> float | None:
    """8 a second for 20 hours, of a process that starts again after ten."""
    return 8.0 * HOUR * (hour if hour < 10 else hour - 10) if hour <= 20 else None


def series() -> dict[str, Value]:
    """What is scraped. Leader x is replaced by y after 20 hours; y stands by until then."""
    held = "muster_namespace_accelerator_seconds_total"
    vision = f'namespace="vision",operator="jax",{GPU}'
    found: dict[str, Value] = {f"muster_build_info{{{Y}}}": rising(0, 0, 0, 1)}
    for job in JOBS:
        found[f'{held}{{{vision},bucket="productive",{X},{job}}}'] = restarted
        found[f'{held}{{{vision},bucket="productive",{Y},{job}}}'] = rising(8, 20, 30)
        for bucket in ("taken_back", "stuck"):
            found[f'{held}{{{vision},bucket="{bucket}",{Y},{job}}}'] = lambda at: 16.0 * HOUR * (at > 25)
        lost = "muster_namespace_accelerator_lost_seconds_total"
        found[f'{lost}{{{vision},cause="hang",{Y},{job}}}'] = lambda at: 16.0 * HOUR * (at > 25)
        found[f'{lost}{{{vision},cause="node",{X},{job}}}'] = rising(0, 0, 0, last=20)
    found[f'{held}{{namespace="nlp",operator="jax",{TPU},bucket="startup",{Z}}}'] = rising(4, 0, 5)
    owned = "muster_owner_accelerator_seconds_total"
    for team, unit, of in (("red", "u", Y), ("blue", "u", Z)):
        for job in JOBS:
            for label, owner in (("label_team", team), ("label_unit", unit)):
                names = f'label="{label}",owner="{owner}",{GPU}'
                found[f'{owned}{{{names},bucket="productive",{of},{job}}}'] = rising(8, 0, 10)
        lost = f'muster_owner_accelerator_lost_seconds_total{{label="label_team",owner="{team}",{GPU}'
        found[f'{lost},cause="hang",{of}}}'] = rising(1, 20, 25)
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def prometheus(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of a Prometheus that has scraped all of that."""
    tool = needed("promtool")
    folder = tmp_path_factory.mktemp("prometheus")
    began = time.time() - BACK * HOUR
    families: dict[str, list[str]] = defaultdict(list)
    for name, value in series().items():
        for at in range(0, BACK * HOUR, STEP):
            if (one := value(at / HOUR)) is not None:
                families[name.partition("{")[0]].append(f"{name} {one!r} {began + at:.3f}\n")
    (folder / "scraped").write_text("".join("".join(lines) for lines in families.values()) + "# EOF\n")
    (folder / "prometheus.yaml").write_text("{}")
    command = [
        str(tool),
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        str(folder / "scraped"),
        str(folder / "prometheus"),
    ]
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    port = free_port()
    async with serve("prometheus", folder, port):
        yield f"http://127.0.0.1:{port}"


async def usage(url: str, *words: str) -> Result:
    """Run the command, which has an event loop of its own."""
    return await asyncio.to_thread(CliRunner().invoke, muster, ["usage", "--prometheus", url, *words])


@pytest.mark.asyncio(loop_scope="module")
async def test_hours_of_namespaces_count_once_over_restarts_replicas_shards_and_second_scrapes(prometheus: str) -> None:
    result = await usage(prometheus, "--since", "2d", "-o", "json")
    assert result.exit_code == 0, result.output
    vision, nlp = json.loads(result.stdout)["items"]
    assert (vision["namespace"], vision["resource"]) == ("vision", "nvidia.com/gpu")
    assert vision["held"] == pytest.approx(240, rel=0.005), "20 hours by x, which restarts, and 10 by y"
    assert vision["productive"] == pytest.approx(224, rel=0.005)
    assert vision["stuck"] == pytest.approx(16, rel=0.005)
    assert vision["lost_to_hang"] == pytest.approx(vision["stuck"]), "each once, as the buckets"
    assert vision["lost_to_node"] == 0
    assert nlp["held"] == nlp["startup"] == pytest.approx(20, rel=0.02)


@pytest.mark.asyncio(loop_scope="module")
async def test_hours_of_owners_count_once_by_the_label_that_is_asked_for(prometheus: str) -> None:
    result = await usage(prometheus, "--by", "owner", "--since", "2d", "-o", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    items = {each["owner"]: each for each in json.loads(result.stdout)["items"]}
    assert set(items) == {"red", "blue"}
    for each in items.values():
        assert each["held"] == each["productive"] == pytest.approx(80, rel=0.01)
        assert each["lost_to_hang"] == pytest.approx(5, rel=0.01)
    result = await usage(prometheus, "--by", "owner", "--owner-label", "unit", "--since", "2d", "-o", "json")
    (unit,) = json.loads(result.stdout)["items"]
    assert unit["held"] == pytest.approx(160, rel=0.01), "of both shards"
    result = await usage(prometheus, "--by", "owner", "--owner-label", "cost.center/x", "--since", "2d")
    assert "no run has label_cost_center_x" in result.stderr


@pytest.mark.asyncio(loop_scope="module")
async def test_a_window_that_begins_before_the_first_scrape_is_named(prometheus: str) -> None:
    result = await usage(prometheus, "--since", "5d", "--by", "operator")
    heads, *rows = result.stdout.splitlines()
    assert heads.split() == [
        "OPERATOR",
        "RESOURCE",
        "HELD",
        "PRODUCTIVE",
        "GOODPUT",
        "STUCK",
        "RECOVERY",
        "LOST",
        "OTHER",
    ]
    held, wasted = rows[:2], rows[3:]
    assert [row.split()[:2] for row in held] == [["jax", "nvidia.com/gpu"], ["jax", "google.com/tpu"]]
    assert [row.split() for row in wasted] == [
        ["OPERATOR", "RESOURCE", "WASTED", "TO", "HANG"],
        ["jax", "nvidia.com/gpu", "16.0", "16.0"],
    ]
    assert "has nothing of musterd from 5d ago" in result.stderr
    assert "has nothing" not in (await usage(prometheus, "--since", "2d")).stderr
