"""How many notifications a dead rack is, by a real Alertmanager with the shipped routes and inhibitions."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from deploy.prometheus.groups import ALERTS
from muster.cli.processes.stack import free_port
from muster.state.facts.audience import of_reason
from tests.deploy.prometheus.binaries import needed
from tests.deploy.prometheus.live.pipeline import SHIPPED, received_at, serve
from tests.deploy.prometheus.test_inhibitions import SEVERITY, ask

pytestmark = pytest.mark.slow

INCIDENT = {"kind": "rack", "subject": "r7", "audience": "platform"}
TYPO = {"kind": "image", "subject": "lama:1", "audience": "researcher"}
AUDIENCE = {alert.name: alert.audience for alert in ALERTS}
OWN = {"namespace": "vision", "experiment": "own", "reason": "ImagePullBackOff"}


class Receiver:
    """Every webhook, as the names of its alerts."""

    def __init__(self) -> None:
        self.hooks: list[Counter[str]] = []
        self.experiments: set[str] = set()
        self.by_receiver: defaultdict[str, set[str]] = defaultdict(set)
        """The names of the alerts that each one got."""
        self.news = asyncio.Condition()

    async def receive(self, request: web.Request) -> web.Response:
        alerts = (await request.json())["alerts"]
        async with self.news:
            self.hooks.append(Counter(each["labels"]["alertname"] for each in alerts))
            self.by_receiver[request.query_string] |= {each["labels"]["alertname"] for each in alerts}
            self.experiments |= {each["labels"].get("experiment", "") for each in alerts}
            self.news.notify_all()
        return web.Response()

    async def until(self, name: str) -> None:
        async with asyncio.timeout(120), self.news:
            await self.news.wait_for(lambda: any(name in each for each in self.hooks))


@pytest.fixture
async def receiver() -> AsyncIterator[tuple[Receiver, int]]:
    found, application = Receiver(), web.Application()
    application.router.add_post("/", found.receive)
    async with TestServer(application) as server:
        assert server.port is not None
        yield found, server.port


@pytest.fixture
async def alertmanager(receiver: tuple[Receiver, int], tmp_path: Path) -> AsyncIterator[str]:
    """Where a real Alertmanager takes alerts; it has the shipped routes, and each of its receivers is that one."""
    needed("alertmanager")
    settings = received_at(
        yaml.safe_load((SHIPPED / "alertmanager.yaml").read_text()), f"http://127.0.0.1:{receiver[1]}/"
    )
    (tmp_path / "alertmanager.yaml").write_text(yaml.safe_dump(settings))
    port = free_port()
    async with serve("alertmanager", tmp_path, port):
        yield f"http://127.0.0.1:{port}/api/v2/alerts"


def fired(name: str, labels: dict[str, str]) -> dict[str, Any]:
    """As the shipped rule fires it on the series of musterd."""
    audience = AUDIENCE[name] or of_reason(labels.get("reason", ""))
    return {"labels": {"alertname": name, "severity": SEVERITY[name], "audience": audience.value, **labels}}


@pytest.mark.parametrize("at_once", [True, False], ids=["known at once", "known after the first notification"])
async def test_a_dead_rack_is_few_notifications_and_another_run_still_pages(
    at_once: bool, receiver: tuple[Receiver, int], alertmanager: str
) -> None:
    hooks, _ = receiver
    runs = [{"namespace": f"team-{n % 4}", "experiment": f"run-{n}"} for n in range(200)]
    frozen = [fired("MusterCoordinatorStuck", run | {"reason": "CoordinatorUnreachable"}) for run in runs]
    later = [
        fired(name, run | labels)
        for run in runs
        for name, labels in (("MusterRankMissing", {}), ("MusterExperimentStuck", {"reason": "NodeNotReady"}))
    ]
    explained = [fired("MusterIncident", INCIDENT), *(fired("MusterRunExplained", run) for run in runs)]
    if not at_once:  # the coordinators are reported without a wait, the incident 10 s later
        await asyncio.to_thread(ask, alertmanager, frozen)
        await hooks.until("MusterCoordinatorStuck")
    await asyncio.to_thread(ask, alertmanager, explained)
    await asyncio.to_thread(ask, alertmanager, [*frozen, *later])
    await hooks.until("MusterIncident")
    await asyncio.to_thread(ask, alertmanager, [fired("MusterImageNotPulled", OWN)])
    await hooks.until("MusterImageNotPulled")
    others = [each for each in hooks.hooks if "MusterImageNotPulled" not in each]
    assert len(others) <= 3, others
    assert sum("MusterIncident" in each for each in others) == 1
    assert not any("MusterRunExplained" in each for each in hooks.hooks)
    assert "own" in hooks.experiments
    if at_once:
        assert hooks.experiments == {"", "own"}


async def test_what_the_owner_of_a_run_can_mend_does_not_reach_the_platform(
    receiver: tuple[Receiver, int], alertmanager: str
) -> None:
    hooks, _ = receiver
    nlp, vision, shared = ({"namespace": name, "experiment": "llama"} for name in ("nlp", "vision", "shared"))
    alerts = [
        fired("MusterImageNotPulled", nlp | {"reason": "ErrImagePull"}),
        fired("MusterCreateRefused", nlp | {"reason": "QuotaExceeded"}),
        fired("MusterHung", vision | {"reason": "Hung"}),
        fired("MusterUnschedulable", shared | {"label_team": "vision", "reason": "Unschedulable"}),
        fired("MusterImageNotPulled", nlp | {"label_team": "vision", "reason": "ImagePullBackOff"}),
        fired("MusterIncidentLasts", TYPO),
        fired("MusterCreateRefused", vision | {"reason": "WebhookFailed"}),
        fired("MusterCoordinatorStuck", vision | {"reason": "CoordinatorUnreachable"}),
        fired("MusterReplicaMissing", {"job": "musterd"}),
        {"labels": {"alertname": "MusterOfLater", "severity": "warning"}},
    ]
    platform = {"MusterCreateRefused", "MusterCoordinatorStuck", "MusterReplicaMissing", "MusterOfLater"}
    expected = {
        "researchers": {"MusterImageNotPulled", "MusterCreateRefused", "MusterIncidentLasts"},
        "vision": {"MusterHung", "MusterUnschedulable"},
        "platform": platform,
    }
    await asyncio.to_thread(ask, alertmanager, alerts)
    async with asyncio.timeout(120), hooks.news:
        await hooks.news.wait_for(lambda: sum(map(len, hooks.by_receiver.values())) >= sum(map(len, expected.values())))
    assert hooks.by_receiver == expected
