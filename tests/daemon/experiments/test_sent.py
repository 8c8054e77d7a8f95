"""The checks of a post, and the time since which this daemon receives reports."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.experiments.sent import DEAF, LOST, Hearing, PodIdentity, PostRefused, SentIntake
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, pod, record
from tests.daemon.experiments.test_index import UID, run


@dataclass
class World:
    index: ExperimentIndex
    intake: SentIntake
    now: list[float]
    steps: list[tuple[str, float]]

    def post(self, pod: PodIdentity, body: bytes | None = None, name: str = "run", namespace: str = "team") -> None:
        self.intake.take(namespace, name, pod, body if body is not None else status(1))

    def refused(self, pod: PodIdentity, **options: Any) -> int:
        with pytest.raises(PostRefused) as refused:
            self.post(pod, **options)
        return refused.value.status


def status(step: int) -> bytes:
    metrics = [{"name": "current_step", "value": str(step)}]
    return json.dumps({"trainerStatus": {"progressPercentage": 1, "metrics": metrics}}).encode()


def identity(pod: Pod, **other: str) -> PodIdentity:
    return PodIdentity(**{"namespace": pod.namespace, "name": pod.name, "uid": pod.uid} | other)


@pytest.fixture
def world() -> World:
    index = ExperimentIndex(wanted=lambda uid: None, gone=lambda uid: None)
    index.experiment_changed(None, run())
    index.entries[UID].record = record(phase=Phase.RUNNING)
    for rank in (0, 1):
        index.pod_changed(None, pod(rank, owner=UID))
    now, steps = [NOW], list[tuple[str, float]]()
    return World(index, SentIntake(index, lambda: now[0], lambda uid, wait: steps.append((uid, wait))), now, steps)


def test_a_member_reports_for_its_own_rank(world: World) -> None:
    world.post(identity(pod(1)), status(7))
    sent = world.index.entries[UID].view.sent
    assert {rank: report.step for rank, report in sent.last.items()} == {1: 7}
    assert world.steps == [(UID, 0.0)]


def test_a_pod_that_is_no_member_is_refused(world: World) -> None:
    mine = pod(0)
    assert world.refused(identity(mine, uid="another life of that name")) == 403
    assert world.refused(identity(mine, name="another-name")) == 403
    assert world.refused(identity(mine, namespace="theirs")) == 404
    assert world.refused(identity(mine), name="another") == 404
    assert world.refused(identity(mine, namespace="theirs"), namespace="theirs") == 404
    assert world.index.entries[UID].view.sent.last == {}


def test_a_pod_of_an_epoch_that_is_over_is_refused_and_so_is_a_token_of_a_pod_that_is_gone(world: World) -> None:
    member = pod(0, owner=UID)
    world.post(identity(member))
    world.index.pod_changed(member, None)
    assert world.refused(identity(member)) == 403
    world.index.pod_changed(None, member)
    world.index.entries[UID].record = record(phase=Phase.RUNNING, epoch=1)
    assert world.refused(identity(member)) == 403


def test_a_rank_is_heard_once_a_second(world: World) -> None:
    member = identity(pod(0))
    world.post(member)
    world.now[0] += 0.5
    assert world.refused(member) == 429
    world.post(identity(pod(1)))
    world.now[0] += 0.5
    world.post(member)


@pytest.mark.parametrize("body", [b"", b"[" * 60_000, b'{"trainerStatus": {"progressPercentage": NaN}}', b"\xff"])
def test_a_body_that_is_no_status_is_refused(world: World, body: bytes) -> None:
    assert world.refused(identity(pod(0)), body=body) == 422


@pytest.mark.parametrize("step", ["-1", "nan", "1e300", "1.5"])
def test_a_step_that_is_none_changes_nothing(world: World, step: str) -> None:
    sent = status(1).replace(b'"1"', f'"{step}"'.encode())
    world.post(identity(pod(0)), sent)
    assert world.index.entries[UID].view.sent.last == {}


class Clocks:
    """A wall clock and a monotonic one."""

    def __init__(self) -> None:
        self.wall, self.monotonic = 1000.0, 5.0
        self.hearing = Hearing(lambda: self.wall, lambda: self.monotonic)

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.monotonic += seconds


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def test_a_daemon_that_looks_often_has_heard_since_it_began(clocks: Clocks) -> None:
    for _ in range(20):
        clocks.pass_(5.0)
        assert clocks.hearing.since() == 1000.0


def test_a_process_that_stood_still_hears_from_now_on(clocks: Clocks) -> None:
    clocks.pass_(DEAF + 1)
    assert clocks.hearing.since() == clocks.wall
    clocks.pass_(5.0)
    assert clocks.hearing.since() == clocks.wall - 5.0


def test_a_daemon_that_begins_to_lead_hears_from_then_on(clocks: Clocks) -> None:
    clocks.pass_(5.0)
    clocks.hearing.begin()
    assert clocks.hearing.since() == clocks.wall


def test_a_step_of_the_wall_clock_moves_the_time(clocks: Clocks) -> None:
    clocks.wall += 3600
    clocks.hearing.clock_stepped(3600)
    assert clocks.hearing.since() == 4600.0


def test_a_lost_post_concerns_who_sends_from_that_address(clocks: Clocks) -> None:
    clocks.pass_(5.0)
    clocks.hearing.lost("10.0.0.1")
    assert clocks.hearing.since() == 1000.0
    assert clocks.hearing.since(["10.0.0.2"]) == 1000.0
    assert clocks.hearing.since(["10.0.0.2", "10.0.0.1"]) == 1005.0
    clocks.hearing.clock_stepped(50.0)
    assert clocks.hearing.since(["10.0.0.1"]) == 1055.0


def test_a_post_that_may_be_of_any_address_concerns_all(clocks: Clocks) -> None:
    clocks.pass_(5.0)
    clocks.hearing.lost("")
    assert clocks.hearing.since(["10.0.0.2"]) == 1005.0


def test_of_more_addresses_than_are_kept_nobody_is_known_to_be_silent(clocks: Clocks) -> None:
    for number in range(LOST + 1):
        clocks.pass_(0.001)
        clocks.hearing.lost(f"10.{number >> 8}.{number & 255}.1")
    assert clocks.hearing.since(["elsewhere"]) == pytest.approx(1000.001, abs=1e-6)
