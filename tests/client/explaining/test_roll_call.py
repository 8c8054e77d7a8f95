"""The roll call of the SDK is the document of musterd's page, from what the caller may read."""

from muster.client import Client, Explanation
from muster.client.explaining.lines import lines
from muster.client.snapshot import snapshot_of
from tests.client.localserver import MANIFEST, LocalServer, labels, running, waiting

NOW = 1_800_000_000.0


async def test_each_rank_has_its_standing_and_each_missing_one_its_reason(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    server.pod("mine-worker-0-0-x", labels("mine", 0), **running())
    pulling = waiting("ImagePullBackOff", 'Back-off pulling image "registry/x:1"')
    server.pod("mine-worker-0-1-x", labels("mine", 1), **pulling)
    server.status("mine", phase="Assembling", size=2, roll={"expected": 2, "arrived": 1, "missing": [1]})
    roll = (await client.explain("mine")).roll_call(NOW)
    assert roll is not None
    assert (roll.namespace, roll.name, roll.phase, roll.size) == ("default", "mine", "Assembling", 2)
    assert (roll.arrived, roll.missing) == (1, 1)
    assert roll.members == {"arrived": "0", "image not pulled": "1"}
    assert [(each.rank, each.pod) for each in roll.missing_ranks] == [(1, "mine-worker-0-1-x")]
    (finding,) = roll.findings
    assert (finding.cause, finding.ranks) == ("ImagePull", "1")
    assert finding.sentence == f"rank 1: {finding.what}"
    assert roll.unseen == {}


async def test_a_missing_flavor_is_no_refusal_by_the_api_server(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    stuck = {"type": "Stuck", "status": "True", "reason": "FlavorMissing", "message": "create it"}
    server.status("mine", phase="Queued", size=2, conditions=[stuck])
    roll = (await client.explain("mine")).roll_call(NOW)
    assert roll is not None
    assert [(each.cause, each.what) for each in roll.findings] == [("Queued", "waiting in a queue: FlavorMissing")]


async def test_there_is_none_of_what_musterd_has_not_seen_or_of_pods_that_may_not_be_read(
    client: Client, server: LocalServer
) -> None:
    await client.submit(MANIFEST, name="mine")
    assert (await client.explain("mine")).roll_call(NOW) is None
    server.status("mine", phase="Running", size=2)
    seen = await client.get("mine")
    assert Explanation(seen, (), (), members_read=False).roll_call(NOW) is None
    strange = snapshot_of({**seen.raw, "spec": {"operator": 7}})
    assert Explanation(strange, (), ()).roll_call(NOW) is None


async def test_a_reason_that_changed_later_than_its_status_has_its_own_time(
    client: Client, server: LocalServer
) -> None:
    await client.submit(MANIFEST, name="mine")
    times = {"lastTransitionTime": "2027-01-15T07:59:47Z", "reasonTime": "2027-01-15T07:59:59Z"}
    stuck = {"type": "Stuck", "status": "True", "reason": "CoordinatorUnreachable", "message": "it is silent", **times}
    ready = stuck | {"type": "Scheduled", "reason": "AllScheduled", "message": "", "reasonTime": None}
    server.status("mine", phase="Running", size=2, conditions=[stuck, ready])
    shown = "\n".join(lines(await client.explain("mine"), NOW))
    assert "  Stuck True for 13s  (CoordinatorUnreachable for 1s: it is silent)" in shown
    assert "  Scheduled True for 13s  (AllScheduled)" in shown
