"""The tasks of a Ray job are counted rarely, never beside the roll, and an answer of any kind does no harm."""

import json

import pytest

from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.bounded.http import Asker, Reply
from muster.watchers.probes.ray.answers import LOAD, PACE, REST, SUMMARY, TaskCounter, Unreadable, read_tasks


def summary(total: int = 0, **functions: dict[str, int]) -> bytes:
    """Return a summary as Ray 2.60 writes it."""
    by_name = {name: {"func_or_class_name": name, "state_counts": counts} for name, counts in functions.items()}
    cluster = {"cluster": {"summary": by_name, "total_tasks": 1, "summary_by": "func_name"}}
    found = {"total": total, "num_after_truncation": total, "result": {"node_id_to_summary": cluster}}
    return json.dumps({"result": True, "msg": "", "data": {"result": found}}).encode()


class Dashboard(Asker):
    """A dashboard that gives these answers of one page, each after a time, and the last one forever."""

    def __init__(self, *replies: Reply, took: float = 0.01, path: str = SUMMARY) -> None:
        self.replies, self.took, self.path, self.now = list(replies), took, path, 1000.0
        self.asked: list[float] = []

    async def get(self, port: int, path: str, *, host: str = "", most: int = 0) -> Reply:
        assert (port, path, host) == (8265, self.path, "")
        self.asked.append(self.now)
        self.now += self.took
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def counter(self) -> TaskCounter:
        return TaskCounter(self, 8265, lambda: self.now)


async def looks(dashboard: Dashboard, seconds: int) -> TaskCounter:
    counter = dashboard.counter()
    for _ in range(seconds // 3):
        await counter.look()
        dashboard.now += 3.0
    return counter


GOOD = Reply(200, summary(1000, load={"FINISHED": 400}, train={"FINISHED": 240, "RUNNING": 12, "FAILED": 3, "X": 345}))


async def test_finished_running_and_failed_tasks_are_reported() -> None:
    counter = await looks(Dashboard(GOOD), 3)
    assert counter.sentence == "640 of 1,000 tasks finished, 12 running, 3 failed"
    counter.forget()
    assert counter.sentence == ""


async def test_it_is_asked_once_a_minute_at_most() -> None:
    dashboard = Dashboard(GOOD)
    await looks(dashboard, 600)
    assert 9 <= len(dashboard.asked) <= 10
    assert all(after - before >= PACE for before, after in zip(dashboard.asked, dashboard.asked[1:], strict=False))


async def test_a_slow_dashboard_is_asked_so_rarely_that_it_works_for_half_a_percent_of_the_time() -> None:
    dashboard = Dashboard(GOOD, took=1.8)
    await looks(dashboard, 3600)
    assert 1.8 * len(dashboard.asked) <= LOAD * 3600 + 1.8


@pytest.mark.parametrize(
    "reply",
    [
        Reply(0, state=CoordinatorState.TIMEOUT, detail="no answer within 2 s"),
        Reply(500, b"no"),
        Reply(200, b"not json"),
        Reply(200, b'{"data":{"result":{"result":{}}}}'),
    ],
)
async def test_a_dashboard_that_does_not_say_is_left_alone_and_what_it_said_last_stands(reply: Reply) -> None:
    dashboard = Dashboard(GOOD, reply)
    counter = await looks(dashboard, 600)
    assert len(dashboard.asked) == 2
    assert counter.sentence.startswith("640 of 1,000")
    dashboard.now = dashboard.asked[-1] + REST
    await counter.look()
    assert len(dashboard.asked) == 3


def test_what_ray_does_not_count_is_reported() -> None:
    said = read_tasks(summary(25_000, train={"FINISHED": 9_000, "RUNNING": 1_000}))
    assert said == "9,000 of 10,000 tasks finished of 25,000, the others are not counted, 1,000 running"
    assert read_tasks(summary()) == ""


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"data": null}', b"\xff", b"[" * 100_000])
def test_an_answer_that_cannot_be_read_is_an_error(body: bytes) -> None:
    with pytest.raises(Unreadable):
        read_tasks(body)
