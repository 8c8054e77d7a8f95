"""Steps of the wall clock are noticed, and end or delay nothing."""

import asyncio

import pytest

from muster.daemon.app import Daemon
from muster.daemon.clocks import APART, STEP, WallClock
from tests.daemon.virtual_daemon import Cluster, scraped, virtually

HOUR = 3_600.0


class Hands:
    """Two clocks that a test sets."""

    def __init__(self) -> None:
        self.wall = 1_000.0
        self.boot = 50.0
        self.steps: list[float] = []
        self.pause = 0.0
        """Seconds for which the process does not run between two readings."""
        self.clock = WallClock(lambda: self.wall, self._since_boot, self.steps.append)

    def _since_boot(self) -> float:
        now = self.boot
        self.boot += self.pause
        return now

    def go_on(self, seconds: float, *, drift: float = 0.0) -> float:
        self.boot += seconds
        self.wall += seconds + drift
        return self.clock()


@pytest.mark.parametrize("step", [STEP, -STEP, 40.0, -HOUR])
def test_a_step_is_reported_once_with_its_length(step: float) -> None:
    hands = Hands()
    hands.go_on(1)
    hands.go_on(1, drift=step)
    hands.go_on(1)
    assert hands.steps == [pytest.approx(step)]


def test_a_clock_that_is_slewed_is_not_stepped() -> None:
    hands = Hands()
    for _ in range(10_000):
        hands.go_on(5, drift=5 * 500e-6)
    assert hands.steps == []


def test_a_process_that_was_stopped_between_two_readings_sees_no_step() -> None:
    hands = Hands()
    hands.go_on(1)
    hands.pause = APART + 10
    hands.clock()
    hands.pause = 0.0
    hands.wall += hands.boot - 50.0 - (hands.wall - 1_000.0)
    hands.clock()
    assert hands.steps == []


def times(cluster: Cluster) -> tuple[str, int, int]:
    status = cluster.status
    return status["phase"], status["epoch"], status["restarts"]


@pytest.mark.parametrize("step", [2 * HOUR, -HOUR])
@virtually
async def test_a_healthy_run_outlives_a_step_of_the_wall_clock(cluster: Cluster, daemon: Daemon, step: float) -> None:
    await cluster.gang(timeout="30m")
    cluster.set_by = step
    await asyncio.sleep(29 * 60)
    assert times(cluster) == ("Running", 0, 0)
    assert "muster_clock_steps_total 1.0" in scraped(daemon)
    await asyncio.sleep(60)
    assert (cluster.status["phase"], cluster.status["reason"]) == ("Failed", "DeadlineExceeded")


@pytest.mark.parametrize("step", [40.0, -HOUR])
@virtually
async def test_a_backoff_lasts_as_long_as_it_should_over_a_step(cluster: Cluster, daemon: Daemon, step: float) -> None:
    backoff = {"initial": "30s", "max": "5m"}
    await cluster.gang(restartPolicy={"backoffLimit": 3, "backoff": backoff})
    failed = {"name": "main", "ready": False, "state": {"terminated": {"exitCode": 1}}}
    cluster.play(1, phase="Failed", containerStatuses=[failed])
    await asyncio.sleep(5)
    cluster.collect()
    assert cluster.status["phase"] == "Restarting"
    cluster.set_by = step
    await asyncio.sleep(24)
    assert cluster.status["phase"] == "Restarting"
    await asyncio.sleep(3)
    assert cluster.status["phase"] == "Pending"


@virtually
async def test_an_unfinished_experiment_is_decided_upon_every_60_s(cluster: Cluster, daemon: Daemon) -> None:
    await cluster.gang()
    await asyncio.sleep(120)
    before = daemon.instruments.registry.get_sample_value("muster_decision_duration_seconds_count")
    await asyncio.sleep(600)
    after = daemon.instruments.registry.get_sample_value("muster_decision_duration_seconds_count")
    assert before is not None
    assert after is not None
    assert 10 <= after - before <= 12
