"""The view counts pods as they change, and keeps what a coordinator said last."""

from dataclasses import fields, replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.gang import Attempts
from muster.state.view.probe_result import SHOWN_RANKS, probe_result
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.view.tally import NO_TALLY, Tally
from muster.state.view.view import LAST_STATE_PATIENCE, View
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from tests.builders import NOW, answer, plan, pod, record, view

ARRIVED, CONNECTED, LEFT, MISSING = RankState.ARRIVED, RankState.CONNECTED, RankState.LEFT, RankState.MISSING
CRASH = Exit("main", 1, 0, "Error", "", NOW)


def counts(tally: Tally) -> tuple[int, int, int, int, int]:
    return tally.pods, tally.scheduled, tally.started, tally.ready, tally.succeeded


def notable(tally: Tally) -> dict[str, list[str]]:
    names = ("alive", "failed", "idle", "leaving", "disrupted")
    return {name: sorted(held) for name in names if (held := getattr(tally, name))}


def test_a_gang_without_trouble_has_no_empty_set() -> None:
    """An empty set takes 216 bytes, an empty dict 64; a fleet has 20,000 gangs."""
    seen = view(pod(0), pod(1))
    parts = seen, seen.engine, seen.sent, seen.of(0)
    assert [each.name for part in parts for each in fields(part) if isinstance(getattr(part, each.name), set)] == []


@pytest.mark.parametrize(
    ("changes", "counted", "held"),
    [
        ({}, (1, 1, 1, 1, 0), ["alive"]),
        ({"ready": False}, (1, 1, 1, 0, 0), ["alive"]),
        ({"terminating": True}, (1, 1, 1, 0, 0), ["alive", "leaving"]),
        ({"started": False}, (1, 1, 0, 1, 0), ["alive", "idle"]),
        ({"scheduled": False, "started": False, "ready": False}, (1, 0, 0, 0, 0), ["alive", "idle"]),
        ({"phase": PodPhase.SUCCEEDED}, (1, 1, 1, 0, 1), []),
        ({"phase": PodPhase.SUCCEEDED, "terminating": True, "started": False}, (1, 1, 0, 0, 1), []),
        ({"phase": PodPhase.FAILED}, (1, 1, 1, 0, 0), ["failed"]),
        ({"exit": CRASH}, (1, 1, 1, 1, 0), ["alive", "failed"]),
        ({"disruption": "Evicted"}, (1, 1, 1, 1, 0), ["alive", "disrupted"]),
        ({"phase": PodPhase.FAILED, "disruption": "Evicted"}, (1, 1, 1, 0, 0), ["failed", "disrupted"]),
    ],
)
def test_a_pod_is_counted_for_what_it_is(
    changes: dict[str, Any], counted: tuple[int, int, int, int, int], held: list[str]
) -> None:
    seen = pod(2, **changes)
    tally = Tally()
    tally.add(seen)
    assert counts(tally) == counted
    assert notable(tally) == {name: [seen.uid] for name in held}
    assert all(getattr(tally, name)[seen.uid] is seen for name in held)
    assert tally.members == {2: seen}
    for part in (tally.of_group("worker"), tally.of_job("worker", 0)):
        assert (part.pods, part.working, part.succeeded) == (1, seen.live and not seen.succeeded, seen.succeeded)

    tally.remove(seen)
    assert counts(tally) == (0, 0, 0, 0, 0)
    assert notable(tally) == {}
    assert tally.members == {}
    assert (tally.groups, tally.jobs) == ({}, {})


PODS = st.builds(
    lambda rank, epoch, **seen: pod(
        rank, uid=f"{rank}-{epoch}", epoch=epoch, group=("worker", "ps")[rank % 2], job=rank // 2, **seen
    ),
    rank=st.integers(0, 3),
    epoch=st.integers(0, 2),
    phase=st.sampled_from(PodPhase),
    ready=st.booleans(),
    terminating=st.booleans(),
    scheduled=st.booleans(),
    started=st.booleans(),
    disruption=st.sampled_from(["", "Evicted"]),
    exit=st.sampled_from([None, CRASH]),
)


@given(st.lists(st.tuples(st.sampled_from(["come", "touch", "go"]), PODS), max_size=30))
def test_step_by_step_it_comes_to_the_same_counts_as_all_at_once(steps: list[tuple[str, Pod]]) -> None:
    """The oracle of the incremental view: whatever the order of changes, it equals a view built anew."""
    grown, here = View(), dict[str, Pod]()
    done: dict[int, dict[int, tuple[str, int]]] = {}
    for step, each in steps:
        old = here.pop(each.uid, None)
        new = None if step == "go" else each
        if step == "touch" and old is not None:
            new = msgspec.structs.replace(old, resource_version=old.resource_version + 1)
        if new is not None:
            here[each.uid] = new
            if new.succeeded:
                done.setdefault(new.epoch, {})[new.rank] = new.group, new.job
        grown.change(old, new)
    fresh = view(*here.values())
    for epoch, ranks in done.items():
        fresh.epochs.setdefault(epoch, Tally()).remember(ranks)
    assert set(grown.epochs) == set(fresh.epochs)
    for epoch, tally in grown.epochs.items():
        assert counts(tally) == counts(fresh.of(epoch))
        assert notable(tally) == notable(fresh.of(epoch))
        assert (tally.groups, tally.jobs) == (fresh.of(epoch).groups, fresh.of(epoch).jobs)
        assert (tally.done, tally.collected) == (fresh.of(epoch).done, fresh.of(epoch).collected)
        assert tally.unsaved == tally.done
        assert tally.unsaved_gone.keys() == {
            rank for rank in tally.done if rank in tally.collected or tally.members[rank].terminating
        }
        for count in ("pods", "working", "scheduled", "started", "ready", "succeeded"):
            total = getattr(tally, count)
            assert total == sum(getattr(group, count) for group in tally.groups.values())
            assert total == sum(getattr(job, count) for job in tally.jobs.values())
        for rank, member in tally.members.items():
            assert here[member.uid] is member
            assert member.rank == rank
        for held in (tally.alive, tally.failed, tally.idle, tally.leaving, tally.disrupted):
            assert all(here[uid] is each for uid, each in held.items())


@pytest.mark.parametrize("field", [name for name in Pod.__struct_fields__ if name != "resource_version"])
def test_a_change_of_any_tracked_field_but_the_version_is_reported(field: str) -> None:
    before = pod(0)
    same = msgspec.structs.replace(before, resource_version=99)
    other = msgspec.structs.replace(same, **{field: object()})
    assert before.same_content(same)
    assert not before.same_content(other)


def test_a_newer_record_with_the_same_content_is_kept_and_not_reported() -> None:
    before = pod(1)
    seen = view(before)
    after = msgspec.structs.replace(before, resource_version=99)
    assert not seen.change(before, after)
    assert seen.of(0).alive[before.uid] is after
    assert seen.of(0).members[1] is after
    assert seen.change(after, msgspec.structs.replace(after, ready=False))


def test_a_pod_replaced_by_one_of_the_same_rank_leaves_the_newer_one() -> None:
    old, new = pod(1, uid="old", phase=PodPhase.SUCCEEDED), pod(1, uid="new", phase=PodPhase.SUCCEEDED)
    seen = view(old, new)
    assert seen.of(0).succeeded == 1, "a rank is counted once"
    seen.change(old, None)
    assert seen.of(0).members == {1: new}
    assert list(seen.of(0).alive) == []
    assert seen.of(0).succeeded == 1


def test_an_epoch_without_pods_counts_no_members() -> None:
    seen = view(pod(0, epoch=3))
    assert seen.of(0) is NO_TALLY
    assert seen.others(0) == [seen.of(3)]
    assert seen.others(3) == []
    seen.change(pod(0, epoch=3), None)
    assert seen.epochs == {}
    assert seen.of(3) is NO_TALLY


def test_a_pod_may_change_its_epoch() -> None:
    before, after = pod(0, epoch=1), pod(0, epoch=2)
    seen = view(before)
    seen.change(before, after)
    assert list(seen.epochs) == [2]


def test_the_first_answer_begins_a_probe_result() -> None:
    said = answer(ARRIVED, MISSING, ARRIVED)
    here = probe_result(said, 5, None)
    assert (here.epoch, here.answer, here.since, here.served) == (5, said, NOW, True)
    assert (here.arrived, here.missing, here.passed, here.leaving, here.serving) == (2, (1,), False, False, True)


def test_the_same_roll_again_keeps_its_time() -> None:
    first = probe_result(answer(ARRIVED, MISSING), 0, None)
    assert probe_result(answer(ARRIVED, MISSING, at=NOW + 9, latency=1.0, detail="x"), 0, first).since == NOW


@pytest.mark.parametrize(
    "other",
    [
        answer(ARRIVED, ARRIVED, at=NOW + 9),
        answer(ARRIVED, MISSING, at=NOW + 9, incarnation=7),
        RollAnswer(at=NOW + 9, coordinator=CoordinatorState.TIMEOUT),
    ],
)
def test_a_changed_roll_incarnation_or_silence_is_reported(other: RollAnswer) -> None:
    assert probe_result(other, 0, probe_result(answer(ARRIVED, MISSING), 0, None)).since == NOW + 9


def test_a_silent_coordinator_keeps_the_last_roll() -> None:
    heard = probe_result(answer(ARRIVED, MISSING, expected=2, incarnation=3), 0, None)
    silence = RollAnswer(at=NOW + 1, coordinator=CoordinatorState.TIMEOUT, latency=3.0, detail="no answer")
    here = probe_result(silence, 0, heard)
    assert here.answer == RollAnswer(
        at=NOW + 1, coordinator=CoordinatorState.TIMEOUT, latency=3.0, detail="no answer", expected=2,
        states=(ARRIVED, MISSING), incarnation=3, protocol="v2",
    )  # fmt: skip
    assert (here.served, here.serving, here.arrived, here.missing, here.since) == (True, False, 1, (1,), NOW + 1)


def test_an_answer_of_an_older_epoch_is_ignored() -> None:
    old = probe_result(answer(CONNECTED, LEFT), 0, None)
    here = probe_result(RollAnswer(at=NOW + 5, coordinator=CoordinatorState.REFUSED), 1, old)
    assert (here.epoch, here.since, here.served, here.arrived) == (1, NOW + 5, False, 0)
    assert (here.passed, here.leaving) == (False, False)
    again = probe_result(answer(CONNECTED, LEFT, at=NOW + 5), 1, old)
    assert again.since == NOW + 5


def test_passed_and_leaving_stay_for_one_life_of_the_coordinator() -> None:
    over = probe_result(answer(CONNECTED, LEFT, incarnation=1), 0, None)
    assert (over.passed, over.leaving) == (True, True)
    quiet = probe_result(answer(ARRIVED, MISSING, incarnation=1), 0, over)
    assert (quiet.passed, quiet.leaving) == (True, True)
    reborn = probe_result(answer(ARRIVED, MISSING, incarnation=2), 0, over)
    assert (reborn.passed, reborn.leaving) == (False, False)
    waiting = probe_result(answer(ARRIVED, MISSING, incarnation=1), 0, None)
    later = probe_result(answer(ARRIVED, ARRIVED, incarnation=1), 0, waiting)
    assert (later.passed, later.leaving) == (False, False)


def test_the_number_of_named_ranks_is_bounded() -> None:
    here = probe_result(answer(*[MISSING] * 100), 0, None)
    assert here.missing == tuple(range(SHOWN_RANKS))
    assert SHOWN_RANKS == 64


def test_only_changes_of_this_epoch_are_reported() -> None:
    seen = View()
    said = answer(ARRIVED, MISSING)
    assert seen.observe_probe(said, 0)
    assert not seen.observe_probe(replace(said, at=NOW + 1), 0)
    assert seen.observe_probe(replace(said, at=NOW + 2, states=(ARRIVED, ARRIVED)), 0)
    assert seen.observe_probe(replace(said, at=NOW + 2, states=(ARRIVED, ARRIVED)), 1)
    assert seen.probe_result_of(0) is None
    assert seen.probe_result_of(1) is seen.probe
    assert View().probe_result_of(0) is None


@pytest.mark.parametrize(
    ("seen", "made", "launched"),
    [((0, 1), (2, 3), True), ((0, 1), (2,), False), ((0, 1), (1, 2), False), ((), (0, 1, 2, 3), True),
     ((0, 1, 2, 3), (), True), ((0, 1), (1, 2, 3), True)],
)  # fmt: skip
def test_an_epoch_is_launched_once_all_pods_that_run_together_exist(
    seen: tuple[int, ...], made: tuple[int, ...], launched: bool
) -> None:
    here = view(*(pod(rank, epoch=2) for rank in seen), pod(0, epoch=1))
    here.mark_created(2, made, 4)
    assert here.engine.launched == (2 if launched else -1)
    here.engine.launched = 2
    here.mark_created(2, (), 99)
    assert here.engine.launched == 2


def test_its_pods_are_of_each_rank_the_last() -> None:
    twins = pod(1, uid="old"), pod(1, uid="new")
    ended = pod(2, uid="ended", phase=PodPhase.FAILED)
    here = view(*twins, ended, pod(0, epoch=1))
    assert sorted(each.uid for each in here.pods()) == ["ended", "new", "pod-0-1"]
    assert list(View().pods()) == []


def test_a_pod_that_a_live_read_does_not_find_gets_time_for_its_last_state() -> None:
    seen = View()
    running, done, idle = pod(0), pod(1, phase=PodPhase.SUCCEEDED), pod(2, scheduled=False)
    for each in (running, done, idle):
        seen.change(None, each)
    assert seen.mark_not_found(running, 100.0)
    assert seen.mark_not_found(running, 100.0 + LAST_STATE_PATIENCE - 0.1)
    assert not seen.mark_not_found(running, 100.0 + LAST_STATE_PATIENCE)
    assert not seen.mark_not_found(done, 100.0), "its last state is known"
    assert not seen.mark_not_found(idle, 100.0), "it has run nothing"
    seen.change(running, None)
    assert not seen.engine.not_found
    assert not seen.mark_not_found(running, 200.0)


def test_a_pod_of_an_older_epoch_is_gone_at_once() -> None:
    seen = View()
    old = pod(0, epoch=0)
    seen.change(None, old)
    seen.remember(plan(), record(epoch=1), NOW)
    assert not seen.mark_not_found(old, 100.0)


def test_an_earlier_attempt_of_a_rank_is_gone_at_once() -> None:
    seen = View()
    first, second = pod(0, attempt=0, uid="first"), pod(0, attempt=1, uid="second")
    seen.change(None, first)
    seen.remember(plan(), record(attempts=(Attempts("0", 1),)), NOW)
    seen.change(None, second)
    assert not seen.mark_not_found(first, 100.0)
    assert seen.mark_not_found(second, 100.0)


def test_a_rank_that_is_done_and_runs_again_counts_as_no_pod_until_its_next_one_comes() -> None:
    seen = View()
    seen.remember(plan(), record(completed="0"), NOW)
    assert counts(seen.of(0)) == (1, 1, 1, 0, 1)
    seen.remember(plan(), record(attempts=(Attempts("0", 1),)), NOW)
    assert counts(seen.of(0)) == (0, 0, 0, 0, 0)
    assert seen.of(0).collected == {}


def test_a_success_that_only_the_live_api_knows_counts_while_its_epoch_lasts() -> None:
    seen = View()
    first, second, old = pod(0, epoch=1), pod(1, epoch=1), pod(2, epoch=0)
    for each in (first, second, old):
        seen.change(None, each)
    seen.remember(plan(), record(epoch=1), NOW)
    seen.look_for_vanished((first, old), (), (first, old))
    assert list(seen.of(1).done) == [0]
    assert seen.of(0).done == {}
