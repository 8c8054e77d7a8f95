"""A real Prometheus scrapes durations with the traces of their experiments, and gives them to Grafana's query."""

import asyncio
import time
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from muster.metrics.exposition import look, write
from muster.metrics.instruments import Instruments
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, plan, record
from tests.deploy.grafana.server import prometheus
from tests.deploy.grafana.test_dashboards import panel_of
from tests.deploy.prometheus.binaries import needed

pytestmark = pytest.mark.slow

TRACE = "0af7651916cd43dd8448eb211c80319c"


async def test_prometheus_keeps_the_trace_of_a_duration(tmp_path: Path) -> None:
    needed("prometheus")
    instruments = Instruments("1", lambda: 0, lambda: 0, traced=lambda _plan, _old, _new: TRACE)

    async def scrape(request: web.Request) -> web.Response:
        body, content_type = write(look(instruments.registry), request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    app = web.Application()
    app.router.add_get("/metrics", scrape)
    began = time.time()
    old = record(phase=Phase.ASSEMBLING, phase_at=NOW, epoch_at=NOW)
    new = record(phase=Phase.RUNNING, phase_at=NOW + 4, epoch_at=NOW, assembled_at=NOW + 4)
    instruments.transition(plan(), old, new)
    async with (
        TestServer(app) as musterd,
        prometheus(tmp_path, f"127.0.0.1:{musterd.port}", features="exemplar-storage") as server,
    ):
        found = []
        for _ in range(200):
            if found := await server.exemplars("muster_time_to_assembled_seconds_bucket", began, time.time() + 1):
                break
            await asyncio.sleep(0.2)
    assert found == [{"trace_id": TRACE}]


@pytest.mark.parametrize("title", ["Time to assembled, last hour", "Downtime of a restart, last hour"])
def test_the_panels_of_durations_ask_for_exemplars(title: str) -> None:
    assert all(target["exemplar"] for target in panel_of("muster-fleet", title)["targets"])
