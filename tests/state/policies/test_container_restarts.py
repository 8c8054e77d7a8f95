"""Restarts of containers in their pods are counted, and the first of the last ends is named."""

from functools import partial
from typing import Any

from muster.api.causes import ContainerRestarts
from muster.state.facts.context import Context
from muster.state.policies.container_restarts import LOOKED_AT, TOGETHER, track
from muster.state.summary import history
from muster.state.summary.history import new_lines
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Exit, Pod
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, plan, pod, record, sure, view

OOM: dict[str, Any] = {"code": 137, "reason": "OOMKilled"}


def again(rank: int, times: int, at: float = NOW, **ended: Any) -> Pod:
    """A member that is ready, and whose container the kubelet has started again."""
    exited = Exit("main", ended.get("code", 1), 0, ended.get("reason", "Error"), "", at)
    return pod(rank, restarts=times, last_exit=exited, node="a", name=f"w-{rank}")


def tracked(before: ContainerRestarts | None, *pods: Pod, size: int = 4, **changes: Any) -> ContainerRestarts | None:
    kept = record(phase=Phase.RUNNING, in_place=before, **changes)
    return track(Context.at(plan(size=size), kept, view(*pods), NOW))


def named(restarts: ContainerRestarts | None) -> tuple[int, int, int, int, str]:
    """Count, rank of the cause, its times, the others, and its reason."""
    found = sure(restarts)
    return found.count, sure(found.cause).rank, found.times, found.others, sure(found.cause).reason


def test_members_that_were_never_started_again_have_no_count() -> None:
    assert tracked(None, pod(0), pod(1)) is None


def test_a_restart_is_counted_where_all_members_are_ready() -> None:
    found = tracked(None, pod(0), again(1, 1, **OOM), pod(2), pod(3))
    assert named(found) == (1, 1, 1, 0, "OOMKilled")
    words = history.container_restarts(found, 0)
    assert "rank 1 (w-1) ended with exit code 137 (SIGKILL), OOMKilled" in words
    assert "; started again in its pod once (last end at 1970-01-12T13:46:40Z)" in words
    assert history.container_restarts(found, 1) == "", "it ended in another epoch"


def test_each_further_end_of_a_container_replaces_the_one_before() -> None:
    found = None
    for times in range(1, 9):
        found = tracked(found, again(1, times, NOW + 10 * times, **OOM))
    assert named(found) == (8, 1, 8, 0, "OOMKilled")
    assert "started again in its pod 8 times" in history.container_restarts(found, 0)


def test_ends_that_follow_within_a_minute_are_of_the_row_of_the_first() -> None:
    first = tracked(None, again(1, 1, NOW))
    found = tracked(first, again(1, 1, NOW), again(0, 1, NOW + 1), again(2, 1, NOW + 5))
    assert named(found) == (3, 1, 1, 2, "Error")
    assert history.container_restarts(found, 0).endswith("; after it 2 restarts of other members")


def test_ends_that_are_seen_together_are_named_by_the_first_of_them() -> None:
    found = tracked(None, again(0, 1, NOW + 5), again(2, 1, NOW), again(3, 1, NOW + 1))
    assert named(found) == (3, 2, 1, 2, "Error")


def test_an_end_in_the_same_second_takes_the_place_of_no_cause() -> None:
    first = tracked(None, again(2, 1, NOW))
    assert named(tracked(first, again(2, 1, NOW), again(0, 1, NOW))) == (2, 2, 1, 1, "Error")


def test_an_end_that_comes_later_is_a_cause_of_its_own() -> None:
    first = tracked(None, again(1, 1, NOW))
    found = tracked(first, again(1, 1, NOW), again(3, 1, NOW + TOGETHER + 1, **OOM))
    assert named(found) == (2, 3, 1, 0, "OOMKilled")


def test_a_pod_that_goes_takes_nothing_off_the_count() -> None:
    first = tracked(None, again(1, 3))
    gone = sure(tracked(first, pod(0)))
    assert (gone.count, gone.shown) == (3, 0)
    assert named(tracked(gone, pod(0), again(1, 1, NOW + 500)))[0] == 4


def test_an_end_with_0_is_no_failure() -> None:
    found = tracked(None, again(1, 1, code=0, reason="Completed"))
    assert named(found)[-1] == "Completed"
    assert history.container_restarts(found, 0).startswith("rank 1 (w-1) ended (Completed)")


def test_a_restart_whose_end_the_status_does_not_have_is_counted() -> None:
    found = tracked(None, pod(1, restarts=2, name="w-1"))
    assert named(found) == (2, 1, 2, 0, "EndNotReported")
    words = "rank 1 (w-1) ended (EndNotReported) on node node-1; started again in its pod 2 times"
    assert history.container_restarts(found, 0) == words


def test_of_a_large_gang_a_few_members_are_looked_at_and_all_are_counted() -> None:
    pods = [again(rank, 1, NOW + rank) for rank in range(3 * LOOKED_AT)]
    assert sure(tracked(None, *pods, size=3 * LOOKED_AT)).count == 3 * LOOKED_AT


def test_each_growth_of_the_count_is_an_event_of_both_engines() -> None:
    before = record(phase=Phase.RUNNING)
    after = record(phase=Phase.RUNNING, in_place=tracked(None, again(1, 1)))
    for engine in Engine:
        lines = partial(new_lines, plan(engine=engine), now=NOW)
        assert [line.reason for line in lines(before, after)] == ["RestartedInPlace"]
        assert lines(after, after) == ()
