"""The answers of the HTTP server: metrics, health, the roll call as JSON and as pages."""

import asyncio
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256

import pytest
from aiohttp import ClientSession
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from muster.daemon.web.page.document import SCRIPT, STYLE
from muster.metrics.collector import Subject
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, plan, pod, record, view
from tests.daemon.web.ground import of_tenants
from tests.daemon.web.subjects import EVIL, Daemon, asking, assembling, text_of


async def test_metrics_are_openmetrics_for_those_who_ask(daemon: Daemon, client: ClientSession) -> None:
    daemon.here.append(replace(assembling(), plan=plan(name=EVIL)))
    async with client.get("/metrics", headers={"Accept": "application/openmetrics-text;version=1.0.0"}) as response:
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("application/openmetrics-text")
        families = {family.name for family in text_string_to_metric_families(await response.text())}
    assert {"muster_build", "muster_experiment_ranks_missing"} <= families
    async with client.get("/metrics") as response:
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert b"muster_tracked_pods 4.0" in await response.read()


async def test_a_scrape_is_compressed_for_those_who_take_it(daemon: Daemon, client: ClientSession) -> None:
    daemon.here.append(assembling())
    async with client.get("/metrics", headers={"Accept-Encoding": "deflate, gzip"}) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        packed = await response.text()
    async with client.get("/metrics", headers={"Accept-Encoding": "identity"}) as response:
        assert "Content-Encoding" not in response.headers
        plain = await response.text()
    lines = [[line for line in text.splitlines() if line.startswith("muster_")] for text in (packed, plain)]
    assert lines[0] == lines[1]


async def test_many_scrapers_at_once_all_get_the_whole(daemon: Daemon, client: ClientSession) -> None:
    daemon.here = [replace(assembling(), plan=plan(name=f"run-{n}")) for n in range(100)]

    async def one() -> int:
        async with client.get("/metrics") as response:
            return (await response.read()).count(b"muster_experiment_epoch{")

    assert await asyncio.gather(*(one() for _ in range(8))) == [100] * 8


async def test_ready_only_while_nothing_is_wrong_and_alive_while_the_loop_beats(
    daemon: Daemon, client: ClientSession
) -> None:
    async def ask(path: str) -> tuple[int, bytes]:
        async with client.get(path) as response:
            return response.status, await response.read()

    assert await ask("/readyz") == (200, b"ok\n")
    daemon.problems["pods"] = "the watch has heard nothing for 80 s"
    assert await ask("/readyz") == (503, b"pods: the watch has heard nothing for 80 s\n")
    assert await ask("/livez") == (200, b"ok\n")
    daemon.problems["loop"] = "has not beaten for 30 s"
    assert await ask("/livez") == (503, b"loop: has not beaten for 30 s\n")


async def test_the_roll_call_names_the_missing_rank_its_pod_and_why(daemon: Daemon, client: ClientSession) -> None:
    daemon.here.append(assembling())
    async with client.get("/experiments/team/run.json") as response:
        assert response.content_type == "application/json"
        shown = await response.json()
    assert (shown["phase"], shown["stuck"], shown["epoch"], shown["restarts"]) == ("Assembling", "RanksMissing", 0, 1)
    assert shown["ranks"] == {"arrived": "0-1,3", "missing": "2"}
    assert shown["clocks"] == {"total": 3540.0}
    (missed,) = shown["missingRanks"]
    assert (missed["rank"], missed["group"], missed["pod"]) == (2, "worker", pod(2).name)
    assert "Unschedulable" in missed["why"]
    assert shown["coordinator"]["state"] == "serving"
    assert shown["cause"]["exitCode"] == 137
    assert [line["reason"] for line in shown["story"]] == ["Started", "Stuck"]
    assert shown["story"][1]["at"] == "1970-01-12T13:46:40.000Z"


async def test_pages_escape_everything_and_allow_one_style_and_one_script(
    daemon: Daemon, client: ClientSession
) -> None:
    subject = assembling()
    daemon.here += [subject, replace(subject, plan=plan(namespace=EVIL, name=EVIL, operator=EVIL))]
    for path in ("/", "/experiments/team/run", "/?refresh=no"):
        async with client.get(path) as response:
            text = (await response.read()).decode()
            assert response.status == 200
            policy = response.headers["Content-Security-Policy"]
        style = b64encode(sha256(STYLE.encode()).digest()).decode()
        assert f"<style>{STYLE}</style>" in text
        assert policy == (
            f"default-src 'none'; style-src 'sha256-{style}'; script-src 'self'; connect-src 'self'; base-uri 'none'; "
            "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types muster"
        )
        assert re.findall(r"<script[^>]*>", text) == ['<script src="/page.js" defer>']
        assert not re.search(r"<[^>]*\s(style|on\w+)=", text)
        assert "&lt;script&gt;" in text
        assert ('<noscript><meta http-equiv="refresh"' in text) is ("refresh=no" not in path)
        assert ("data-events=" in text) is ("refresh=no" not in path)


async def test_the_script_of_the_page_is_served_as_it_is(client: ClientSession) -> None:
    async with client.get("/page.js") as response:
        assert (response.status, response.content_type) == (200, "text/javascript")
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert await response.text() == SCRIPT


async def test_members_of_an_ended_run_were_ready_at_its_end(daemon: Daemon, client: ClientSession) -> None:
    ended = record(phase=Phase.FAILED, started_at=NOW - 60, finished_at=NOW, size=4, ready=3)
    stops = record(phase=Phase.SUSPENDED, started_at=NOW - 60, size=4)
    seen = view(*(pod(rank) for rank in range(3)))
    daemon.here += [Subject(plan(name="ended"), ended, view()), Subject(plan(name="stops"), stops, seen)]
    rows = (await text_of(client, "/")).split('href="/experiments/team/')[1:]
    cells = {row.partition('"')[0]: re.findall(r">([^<]*)<small>( ready[^<]*)</small>", row) for row in rows}
    assert cells == {"ended": [("3/4", " ready at the end")], "stops": [("3/4", " ready")]}
    for name, words in (("ended", "members ready at the end"), ("stops", "members ready")):
        page = await text_of(client, f"/experiments/team/{name}")
        assert re.findall(r"<dt>(members ready[^<]*)</dt><dd>3/4</dd>", page) == [words]


async def test_the_page_says_when_an_experiment_is_deleted_and_by_which_setting(
    daemon: Daemon, client: ClientSession
) -> None:
    for name, retention, words in (("own", None, "the ttl of its spec"), ("usual", 86_400, "the retention of the ")):
        over = record(phase=Phase.FAILED, finished_at=NOW, delete_at=NOW + 86_400, retention=retention)
        daemon.here.append(Subject(plan(name=name), over, view()))
        (quoted,) = re.findall(
            r"<dt>To be deleted</dt><dd>(.*?)</dd>", await text_of(client, f"/experiments/team/{name}")
        )
        assert f"</time>, by {words}" in quoted
        async with client.get(f"/experiments/team/{name}.json") as response:
            document = await response.json()
        assert (bool(document["deleteAt"]), document["retention"]) == (True, retention)


async def test_the_page_says_what_is_waited_for_and_leads_to_the_story(daemon: Daemon, client: ClientSession) -> None:
    done = Subject(plan(name="a-done"), record(phase=Phase.SUCCEEDED), view())
    daemon.here += [done, assembling()]
    text = await text_of(client, "/")
    assert "2 experiments: 1 Assembling, 1 Succeeded" in text
    assert "3/4 ranks arrived; missing rank 2" in text
    assert text.index('href="/experiments/team/run"') < text.index('href="/experiments/team/a-done"')
    text = await text_of(client, "/experiments/team/run")
    assert "rank 2: " in text[text.index(">Causes<") :]
    assert "ended with exit code 137" in text
    assert "Warning: Stuck" in text


async def test_an_experiment_that_cannot_be_shown_costs_the_others_nothing(
    daemon: Daemon, client: ClientSession
) -> None:
    broken = replace(assembling(), view=None, plan=plan(name="broken"))  # type: ignore[arg-type]
    daemon.here += [broken, assembling()]
    with capture_logs() as logs:
        for path in ("/", "/experiments.json", "/metrics"):
            async with client.get(path) as response:
                assert response.status == 200
                assert "team" in await response.text()
    assert {entry["event"] for entry in logs} == {"experiment left out of the page"}
    assert {entry["experiment"] for entry in logs} == {"broken"}


@pytest.mark.parametrize(("shard", "named"), [("vision", ["shard vision"]), ("", [])])
async def test_each_page_names_its_shard_in_its_head(shard: str, named: list[str]) -> None:
    async with asking(of_tenants(), {"shard": shard}) as client:
        for path in ("/", "/experiments/red/run"):
            (head,) = re.findall(r"<header.*?<h1>(.*?)</h1>", await text_of(client, path))
            assert re.findall(r"<small>(.*?)</small>", head) == named
