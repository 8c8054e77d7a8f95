"""The nodes that failed runs, on the page and as a document, for readers with all rights and with few."""

from typing import Any

from muster.daemon.web.readers import Anyone
from muster.rollcall.document import NodeListing
from muster.rollcall.make import MOST_LISTED, node_listing
from muster.state.facts.nodes.history import Failure, History
from muster.state.facts.nodes.suspects import Suspect
from tests.builders import NOW
from tests.daemon.web.subjects import Daemon, asking, text_of

SUSPECT = Suspect("gpu<b>", 12, 4, NOW - 6 * 3600, 0.4)


class Few(Anyone):
    """A reader who may list the runs of one namespace, and the authenticator that accepts every reader."""

    async def sees_all(self) -> bool:
        return False

    async def namespaces(self, among: Any) -> frozenset[str]:
        return frozenset(among) & {"t1"}


def listing(*, nodes: int = 0) -> NodeListing:
    history = History()
    for number in range(12):
        at = int(NOW - number * 600)
        found = Failure(at, f"t{number % 4}", f"<i>r{number}", "u.0", "NodeLost", number % 2 == 0, at)
        history.failed("gpu<b>", found, NOW)
    for number in range(nodes):
        history.failed(f"n{number}", Failure(int(NOW), "t2", "r", "u.0", "NodeLost", True, int(NOW)), NOW)
    history.failed("quiet", Failure(int(NOW), "t1", "r", "u.0", "Error", False, int(NOW)), NOW)
    return node_listing(history.failures(), [SUSPECT], NOW, lambda _node: False, dropped=0, looked=True)


async def read(found: NodeListing, authenticator: Anyone | None = None) -> tuple[str, dict[str, Any]]:
    async with asking(Daemon(), {"known_nodes": lambda: found}, authenticator=authenticator) as client:
        page = await text_of(client, "/")
        async with client.get("/nodes.json") as answer:
            return page, await answer.json()


async def test_a_suspect_stands_on_the_page_with_its_proof_and_what_is_proposed() -> None:
    page, document = await read(listing())
    assert "Suspect: node gpu&lt;b&gt; failed 12 runs of 4 namespaces in 6h (expected: 0.4)." in page
    assert "drain it: kubectl drain &#x27;gpu&lt;b&gt;&#x27; --ignore-daemonsets" in page
    assert "and 4 more" in page
    assert 'href="/nodes.json"' in page
    (found,) = document["nodes"]
    assert found["node"] == "gpu<b>"
    assert found["failures"][0] == {
        "namespace": "t0",
        "run": "<i>r0",
        "cause": "NodeLost",
        "certain": True,
        "times": 1,
        "first": "1970-01-12T13:46:40.000Z",
        "last": "1970-01-12T13:46:40.000Z",
    }
    assert document["looked"]


async def test_a_reader_with_few_rights_sees_its_own_runs_and_no_suspect() -> None:
    page, document = await read(listing(nodes=3), Few())
    assert "Suspect" not in page
    (found,) = document["nodes"]
    assert {each["namespace"] for each in found["failures"]} == {"t1"}
    assert (found["suspect"], found["advice"]) == ("", "")


async def test_the_worst_nodes_are_listed_and_the_others_counted() -> None:
    _, document = await read(listing(nodes=MOST_LISTED + 5))
    assert len(document["nodes"]) == MOST_LISTED
    assert document["hidden"] == 6
    assert document["nodes"][0]["node"] == "gpu<b>"
