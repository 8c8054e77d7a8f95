"""The election in virtual time: acquisition, renewal, loss and release of the Lease."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

import pytest
from structlog.testing import capture_logs

from muster.api.errors import Forbidden, Unreachable
from muster.kube.leaderelection.elector import MOST_LOGGED
from muster.kube.leaderelection.rules import Terms
from tests.fakes.candidates import DEFAULT, FAST, LEASE, Candidate, lease, touch, vanish
from tests.fakes.machines import Mode, World

BOTH = pytest.mark.parametrize(("terms", "bound"), [(DEFAULT, 20.0), (FAST, 3.0)], ids=["default", "fast"])


@pytest.fixture
def world() -> Iterator[World]:
    one = World(Random(1))
    yield one
    one.close()


def pair(world: World, terms: Terms = DEFAULT) -> tuple[Candidate, Candidate]:
    """Return a leader, and a standby whose clocks have nothing in common with the leader's."""
    first = Candidate(world, "a", terms)
    world.run(terms.duration * 2, lambda: first.leads)
    second = Candidate(world, "b", terms, offset=86_400.0)
    second.wall_error = -1e6
    world.run(terms.retry * 3)
    assert (first.leads, second.leads) == (True, False)
    return first, second


def settled(world: World, candidate: Candidate) -> bool:
    """Return True if it leads, and its work has begun."""
    return candidate.leads and candidate.working


def test_who_creates_the_lease_leads_only_after_its_duration(world: World) -> None:
    one = Candidate(world, "a")
    world.run(1)
    kept = lease(world)
    assert (kept["holderIdentity"], kept["leaseDurationSeconds"], kept["leaseTransitions"]) == ("a", 15, 0)
    assert kept["acquireTime"] == kept["renewTime"] > "1970-01-01T00:00:00"
    assert not one.leads
    assert world.run(60, lambda: settled(world, one)) == pytest.approx(14, abs=0.1)
    assert one.elector.transitions == {"acquired": 1}


def test_a_free_lease_is_taken_at_once(world: World) -> None:
    world.api.put(LEASE, {"kind": "Lease", "metadata": {"namespace": "muster"}})
    one = Candidate(world, "a")
    assert world.run(60, lambda: settled(world, one)) < 0.1


def test_a_lease_resigned_before_its_duration_is_not_released(world: World) -> None:
    one = Candidate(world, "a")
    world.run(5)
    one.leave()
    two = Candidate(world, "b")
    assert world.run(60, lambda: two.leads) >= 15


def test_a_renewal_is_one_write_every_retry_period_without_a_read(world: World) -> None:
    one, _ = pair(world)
    before, acquired = len(one.machine.cable.sent), lease(world)["acquireTime"]
    world.run(60)
    asked = [what for _, what in one.machine.cable.sent[before:] if "leases" in what]
    assert set(asked) == {f"PUT {LEASE}"}
    assert 30 <= len(asked) <= 38
    assert one.leads
    assert lease(world)["acquireTime"] == acquired < lease(world)["renewTime"]
    assert one.elector.renewal_age is not None
    assert one.elector.renewal_age <= 2


def test_a_standby_reads_and_does_not_write(world: World) -> None:
    _, two = pair(world)
    world.run(60)
    assert {what for _, what in two.machine.cable.sent} == {f"GET {LEASE}"}
    assert two.elector.holder == "a"
    assert two.elector.renewal_age is None


def test_a_standby_sees_a_leader_while_that_renews_the_lease(world: World) -> None:
    one, two = pair(world)
    world.run(60)
    assert (one.elector.sees_leader, two.elector.sees_leader) == (False, True)
    one.machine.kill()
    world.run(DEFAULT.duration - DEFAULT.retry - 1)
    assert two.elector.sees_leader
    world.run(60, lambda: settled(world, two))
    assert not two.elector.sees_leader


@BOTH
def test_a_dead_leader_is_replaced_after_the_duration(world: World, terms: Terms, bound: float) -> None:
    one, two = pair(world, terms)
    one.machine.kill()
    took = world.run(60, lambda: settled(world, two))
    assert terms.duration - terms.retry <= took <= bound
    assert lease(world)["leaseTransitions"] == 1


@BOTH
def test_a_released_lease_is_taken_at_the_next_read(world: World, terms: Terms, bound: float) -> None:
    one, two = pair(world, terms)
    one.leave()
    assert world.run(60, lambda: settled(world, two)) <= terms.retry + 0.1
    assert one.elector.transitions == {"acquired": 1, "resigned": 1}
    assert one.writes[-1] <= two.writes[0]


def has_sent_a_put(sent: Sequence[tuple[float, str]], before: int) -> bool:
    """Return True if the last request is a PUT, sent after the first ``before`` ones."""
    return len(sent) > before and "PUT" in sent[-1][1]


def test_resigning_during_a_renewal_releases_the_lease(world: World) -> None:
    """The renewal may arrive before the Lease is read for the release, after that, or after the release."""
    one, two = pair(world)
    late = 0
    for _ in range(20):
        leaver, other = (one, two) if one.leads else (two, one)
        sent = leaver.machine.cable.sent
        leaver.machine.cable.latency, before = 0.1, len(sent)
        world.run(10, partial(has_sent_a_put, sent, before))
        leaver.leave()
        assert world.run(60, partial(getattr, other, "leads")) <= DEFAULT.retry + 1
        world.run(5)
        assert leaver.elector.transitions["resigned"] == 1
        late += [what.split()[0] for _, what in sent[-4:]] == ["GET", "PUT", "GET", "PUT"]
        one, two = other, Candidate(world, f"{leaver.name}+")
        world.run(5)
    assert late, "no renewal came in between"


def test_a_standby_that_resigns_does_not_write(world: World) -> None:
    one, two = pair(world)
    two.leave()
    world.run(30)
    assert one.leads
    assert two.elector.transitions == {}


def test_a_release_without_an_answer_lets_the_lease_run_out(world: World) -> None:
    one, two = pair(world)
    one.machine.cable.mode = Mode.LOST
    one.leave()
    assert 13 <= world.run(60, lambda: settled(world, two)) <= 25
    assert one.machine.killed


@pytest.mark.parametrize("mode", [Mode.LOST, Mode.REFUSED, Mode.UNANSWERED, Mode.LATE])
@BOTH
def test_a_leader_without_connection_ends_its_work_before_another_leads(
    world: World, terms: Terms, bound: float, mode: Mode
) -> None:
    one, two = pair(world, terms)
    one.machine.cable.mode = mode
    ended = world.run(60, lambda: not one.working)
    assert terms.deadline * 0.9 - terms.retry <= ended <= terms.deadline
    assert not one.leads
    if mode in (Mode.LOST, Mode.REFUSED):
        assert ended + world.run(60, lambda: bool(two.writes)) <= bound
        assert one.writes[-1] < two.writes[0]
        assert one.elector.transitions == {"acquired": 1, "expired": 1}
    one.machine.cable.mode = Mode.FINE
    world.run(60, lambda: settled(world, one) or settled(world, two))
    world.run(60)
    assert one.working is one.leads is not two.leads is two.working


@pytest.mark.parametrize(
    ("mode", "latency", "seconds"),
    [(Mode.LOST, 0.005, 5), (Mode.UNANSWERED, 0.005, 4), (Mode.FINE, 1.0, 120)],
    ids=["a short outage", "renewals whose answers are lost", "a slow server"],
)
def test_a_fault_that_passes_before_the_deadline_keeps_the_leader(
    world: World, mode: Mode, latency: float, seconds: float
) -> None:
    one, two = pair(world)
    one.machine.cable.mode, one.machine.cable.latency, two.machine.cable.latency = mode, latency, latency
    world.run(seconds)
    one.machine.cable.mode = Mode.FINE
    world.run(30)
    assert settled(world, one)
    assert one.elector.transitions == {"acquired": 1}
    assert two.elector.transitions == {}


def test_an_acquisition_whose_answer_is_lost_counts_once_it_is_read(world: World) -> None:
    one, two = pair(world)
    one.leave()
    two.machine.cable.mode = Mode.UNANSWERED
    world.run(60, lambda: lease(world)["holderIdentity"] == "b")
    two.machine.cable.mode = Mode.FINE
    assert world.run(60, lambda: two.leads) < 10


@pytest.mark.parametrize("mode", [Mode.UNANSWERED, Mode.LATE])
def test_a_created_lease_whose_answer_is_lost_leads_only_after_its_duration(world: World, mode: Mode) -> None:
    one = Candidate(world, "a")
    world.run(0.008)  # it has read that no Lease exists
    one.machine.cable.mode = mode
    world.run(4)
    one.machine.cable.mode = Mode.FINE
    assert world.run(60, lambda: one.leads) + 4 >= 15


def test_a_leader_that_lost_the_lease_to_another_ends_at_once(world: World) -> None:
    one, _ = pair(world)
    touch(world, holderIdentity="another")
    assert world.run(10, lambda: not one.working) <= DEFAULT.retry + 0.1
    assert one.elector.transitions == {"acquired": 1, "ousted": 1}
    assert one.elector.holder == "another"


def test_a_foreign_edit_of_the_lease_keeps_the_leader(world: World) -> None:
    one, _ = pair(world)
    for _ in range(20):
        touch(world, leaseDurationSeconds=1)
        world.run(1)
    assert one.leads
    assert one.elector.transitions == {"acquired": 1}
    assert lease(world)["leaseDurationSeconds"] == 15


def test_foreign_fields_of_the_lease_are_kept(world: World) -> None:
    one, two = pair(world)
    old = world.api.objects[LEASE]
    world.api.put(LEASE, {**old, "metadata": {**old["metadata"], "labels": {"team": "x"}, "managedFields": [{}]}})
    touch(world, strategy="theirs")
    one.leave()
    world.run(10, lambda: settled(world, two))
    assert world.api.objects[LEASE]["metadata"]["labels"] == {"team": "x"}
    assert lease(world)["strategy"] == "theirs"


def test_a_deleted_lease_is_created_again_by_its_holder_and_not_taken_early_by_others(world: World) -> None:
    one, two = pair(world)
    for _ in range(10):
        vanish(world)
        world.run(5)
    assert one.leads
    assert one.elector.transitions == {"acquired": 1}
    one.machine.kill()
    vanish(world)
    assert 15 <= world.run(60, lambda: two.leads) <= 21


def test_the_longer_of_two_lease_durations_counts(world: World) -> None:
    """As in the middle of an upgrade that shortens the times."""
    one = Candidate(world, "a", DEFAULT)
    world.run(16)
    two = Candidate(world, "b", FAST)
    world.run(30)
    assert one.leads
    one.machine.kill()
    assert world.run(60, lambda: two.leads) >= 13


def test_a_former_leader_can_lead_again(world: World) -> None:
    one, two = pair(world)
    for _ in range(3):
        one.machine.cable.mode = Mode.LOST
        world.run(60, lambda: settled(world, two))
        one.machine.cable.mode = Mode.FINE
        two.machine.cable.mode = Mode.REFUSED
        world.run(60, lambda: settled(world, one))
        two.machine.cable.mode = Mode.FINE
    assert one.elector.transitions == {"acquired": 4, "expired": 3}
    assert two.elector.transitions == {"acquired": 3, "expired": 3}
    assert lease(world)["leaseTransitions"] == 6


@BOTH
def test_a_suspended_leader_sends_nothing_until_it_leads_again(world: World, terms: Terms, bound: float) -> None:
    one, two = pair(world, terms)
    one.machine.stopped = True
    assert world.run(60, lambda: settled(world, two)) <= bound
    sent = len(one.writes)
    one.machine.stopped = False
    world.run(0.001)
    assert len(one.writes) == sent
    world.run(60)
    assert len(one.writes) == sent
    assert not one.working
    two.machine.kill()
    world.run(60, lambda: settled(world, one))
    world.run(1)
    assert len(one.writes) > sent


def test_a_suspended_leader_without_a_successor_acquires_the_lease_before_it_writes(world: World) -> None:
    one = Candidate(world, "a")
    world.run(20)
    one.machine.stopped = True
    world.run(100)
    sent = len(one.machine.cable.sent)
    one.machine.stopped = False
    world.run(1)
    after = [what.split()[0] for _, what in one.machine.cable.sent[sent:]]
    assert after[:2] == ["GET", "PUT"]
    assert one.leads
    assert one.elector.transitions == {"acquired": 2, "expired": 1}


def test_each_problem_of_an_outage_and_its_end_are_logged_once(world: World) -> None:
    one = Candidate(world, "a")
    refused, forbidden = Unreachable("connection refused"), Forbidden("no rights", status=403, reason="Forbidden")
    with capture_logs() as lines:
        for error in (refused, forbidden, refused):
            world.api.fail("leases", error, times=10)
        world.run(120)
    assert [line["event"] for line in lines] == [
        "the lease cannot be read or renewed; trying again",
        "the lease cannot be read or renewed; trying again",
        "the lease can be read and written again",
        "standing by",
        "leading",
    ]
    assert ["connection refused" in lines[0]["problem"], "no rights" in lines[1]["problem"]] == [True, True]
    assert one.leads


def test_a_problem_that_a_renewal_and_a_read_have_is_logged_once(world: World) -> None:
    one = Candidate(world, "a")
    world.run(60, lambda: settled(world, one))
    with capture_logs() as lines:
        world.api.fail("leases", Unreachable("connection refused"), times=3)
        world.run(10)
    assert [line["event"] for line in lines] == [
        "the lease cannot be read or renewed; trying again",
        "the lease can be read and written again",
    ]


def test_an_outage_whose_message_always_differs_has_few_lines(world: World) -> None:
    Candidate(world, "a")
    with capture_logs() as lines:
        for number in range(20):
            world.api.fail("leases", Unreachable(f"request {number} was lost"))
        world.run(60)
    assert len([line for line in lines if line["log_level"] == "warning"]) == MOST_LOGGED


def test_work_that_fails_ends_the_election(world: World) -> None:
    async def broken() -> None:
        raise ArithmeticError("a bug")

    one = Candidate(world, "a")
    one.task.cancel()
    task = one.machine.start(one.elector.run(broken))
    world.run(20)
    assert isinstance(task.exception(), ArithmeticError)
    assert not one.leads


@pytest.mark.parametrize(
    "spec",
    [
        None,
        [],
        {},
        {"holderIdentity": 7},
        {"holderIdentity": "x\x00" * 999, "leaseDurationSeconds": -1, "leaseTransitions": 2**40, "renewTime": {}},
    ],
)
def test_a_lease_with_invalid_fields_is_read(world: World, spec: object) -> None:
    world.api.put(LEASE, {"metadata": {"namespace": "muster"}, "kind": "Lease", "spec": spec})
    one = Candidate(world, "a")
    world.run(17)
    assert one.leads
    assert lease(world)["leaseTransitions"] == 1
