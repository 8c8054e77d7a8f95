"""The incidents on the page and as a document."""

from aiohttp import ClientSession

from muster.daemon.web.server import HttpServer
from muster.metrics.instruments import Instruments
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.tracking import Tracking, follow
from tests.builders import NOW
from tests.daemon.web.subjects import Daemon

GPUS = (("nvidia.com/gpu", 8), ("rdma/hca", 1))


async def test_they_stand_first_on_the_page_and_in_a_document() -> None:
    signs = [
        Sign(Run(f"t{n % 3}", f"<b>run-{n}"), "NodeNotReady", "node", "n7<i>", 2, NOW - 90, GPUS) for n in range(12)
    ]
    tracking = follow(follow(Tracking(), signs, NOW - 60), signs, NOW)
    registry, daemon = Instruments("1", tracked_pods=lambda: 0, queue_depth=lambda: 0).registry, Daemon()
    server = HttpServer(registry, daemon, daemon, "127.0.0.1", 0, clock=lambda: NOW, tracking=lambda: tracking)
    port = await server.start()
    try:
        async with ClientSession(f"http://127.0.0.1:{port}") as session:
            async with session.get("/") as answer:
                page = await answer.text()
            async with session.get("/incidents.json") as answer:
                document = await answer.json()
    finally:
        await server.stop()
    assert "node n7&lt;i&gt;: NodeNotReady keeps 12 runs of 3 namespaces (24 ranks)" in page
    assert "96 accelerators held" in page
    assert "and 4 more" in page
    assert "<b>" not in page
    assert page.index("NodeNotReady keeps") < page.index('class="sums"')
    (found,) = document["incidents"]
    assert (found["kind"], found["subject"], found["ranks"], len(found["runs"])) == ("node", "n7<i>", 24, 12)
    assert found["devices"] == {"nvidia.com/gpu": 96, "rdma/hca": 12}
    assert (document["hidden"], document["looked"]) == (0, True)
    assert found["remedy"].endswith("kubectl describe node 'n7<i>'")
    assert "kubectl describe node &#x27;n7&lt;i&gt;&#x27;" in page
