"""The incidents, and the nodes that failed runs, on the page and as documents."""

from pathlib import Path
from typing import Any

import pytest

from muster.daemon.web.page import fleet as fleet_page
from muster.daemon.web.readers import Anyone
from muster.metrics.collector import Subject
from muster.rollcall.document import NodeListing
from muster.rollcall.make import MOST_LISTED, node_listing
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.tracking import Tracking
from muster.state.facts.nodes.history import Failure, History
from muster.state.facts.nodes.suspects import Suspect
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.builders import NOW, plan, pod, record, view
from tests.daemon.web.subjects import Daemon, asking, text_of
from tests.state.facts.incidents.fleet import follow

GPUS = (("nvidia.com/gpu", 8), ("rdma/hca", 1))


async def test_they_stand_first_on_the_page_and_in_a_document() -> None:
    signs = [
        Sign(Run(f"t{n % 3}", f"<b>run-{n}"), "NodeNotReady", "node", "n7<i>", 2, NOW - 90, GPUS) for n in range(12)
    ]
    tracking = follow(follow(Tracking(), signs, NOW - 60), signs, NOW)
    async with asking(Daemon(), {"tracking": lambda: tracking}) as client:
        page = await text_of(client, "/")
        async with client.get("/incidents.json") as answer:
            document = await answer.json()
    assert "node n7&lt;i&gt;: NodeNotReady blocks 12 runs of 3 namespaces (24 ranks)" in page
    assert "holds 96 accelerators" in page
    assert '<div class="incident badge bad">' in page
    assert '<details id="incident-node-n7&lt;i&gt;"><summary>its 12 runs</summary>' in page
    assert page.count('<a href="/experiments/t') == 12
    assert "<b>" not in page
    assert page.index("NodeNotReady blocks") < page.index('class="sums"')
    (found,) = document["incidents"]
    assert (found["kind"], found["subject"], found["ranks"], len(found["runs"])) == ("node", "n7<i>", 24, 12)
    assert found["devices"] == {"nvidia.com/gpu": 96, "rdma/hca": 12}
    assert (document["hidden"], document["looked"]) == (0, True)
    assert found["remedy"].endswith("kubectl describe node 'n7<i>'")
    assert "kubectl describe node &#x27;n7&lt;i&gt;&#x27;" in page


def test_the_line_of_an_incident_is_not_cut() -> None:
    style = Path(fleet_page.__file__).with_name("style.css").read_text(encoding="utf-8")
    (rule,) = [line for line in style.splitlines() if line.startswith(".incident.badge {")]
    assert "white-space: normal" in rule
    assert style.index(rule) > style.index("\n.badge {"), "it comes after that of other badges"


@pytest.mark.parametrize(("cause", "explained"), [("NodeNotReady", True), ("ImagePull", False)])
async def test_the_page_of_a_run_leads_to_its_incident_and_advises_nothing_of_what_that_explains(
    cause: str, explained: bool
) -> None:
    stuck = Condition(ConditionType.STUCK, True, "NodeNotReady", "", 1, NOW - 90)
    lost = [pod(rank, node=f"n{rank}", ready=False, cut_off=True) for rank in range(2)]
    run = Subject(plan(size=2), record(phase=Phase.RUNNING, conditions=(stuck,)), view(*lost))
    here = Run(run.plan.namespace, run.plan.title)
    others = [Run(f"t{n}", "run") for n in range(3)]
    kind = ("rack", "r0") if explained else ("registry", "r.example")
    signs = [Sign(each, cause, *kind, 2, NOW - 90) for each in (*others, *([here] if explained else []))]
    tracking = follow(follow(Tracking(), signs, NOW - 60), signs, NOW)
    assert (tracking.explaining(here) is not None) == explained
    async with asking(Daemon([run]), {"tracking": lambda: tracking}) as client:
        page = await text_of(client, f"/experiments/{here.namespace}/{here.name}")
    assert "node n0" in page
    assert ('<a href="/#incidents">part of an incident: rack r0</a>' in page) == explained
    assert ("kubectl describe node n0" in page) != explained


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


async def test_a_suspect_is_on_the_page_with_its_proof_and_what_is_proposed() -> None:
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
