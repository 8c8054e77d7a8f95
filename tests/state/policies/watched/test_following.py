"""The verdicts over a watched run follow what its own controller says."""

from typing import Any

import pytest
from msgspec.structs import replace

from muster.api.causes import Stuck
from muster.state.decide.machine import decide
from muster.state.facts.context import Context
from muster.state.facts.sentences import sentence
from muster.state.policies.watched.following import NOTHING, REPLACED_WITHIN, Followed, begins, epoch_at, first, follow
from muster.state.policies.watched.obstacles import REPORTED_WITHIN
from muster.state.view.own import OwnState, OwnVerdict
from muster.state.view.view import View
from muster.state.vocabulary.plan import Engine, Plan
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import Cause, Phase, Record
from tests.builders import NOW, plan, pod, record, sure, view

FOUR = plan(engine=Engine.WATCH)
ASK = OwnState(OwnVerdict.ASK_PODS)
REPORTED = OwnState(reason="AppFailed", message="exit code 1")
EARLIER = NOW - 100


def context(*pods: Pod, own: OwnState | None = None, of: Plan = FOUR, now: float = NOW, **facts: Any) -> Context:
    seen = view(*pods)
    seen.own = own
    return Context.at(of, record(**{"phase": Phase.RUNNING} | facts), seen, now)


def followed(*pods: Pod, own: OwnState | None = None, **facts: Any) -> Record:
    return follow(context(*pods, own=own, **facts)).record


def done(rank: int) -> Pod:
    return pod(rank, phase=PodPhase.SUCCEEDED, ready=False, exit=Exit("main", 0, 0, "Completed", "", EARLIER))


def crashed(rank: int, at: float = NOW, **changes: Any) -> Pod:
    return pod(rank, phase=PodPhase.FAILED, ready=False, exit=Exit("main", 1, 0, "Error", "", at), **changes)


def removed(rank: int, at: float = NOW) -> Pod:
    """A pod that was deleted, and ended because of it."""
    killed = Exit("main", 143, 0, "Error", "", at)
    return pod(rank, phase=PodPhase.FAILED, ready=False, terminating=True, exit=killed, stopped_at=at)


@pytest.mark.parametrize(
    ("own", "phase", "epoch", "started_at", "epoch_at"),
    [
        (None, Phase.PENDING, 0, NOW, NOW),
        (OwnState(started_at=EARLIER), Phase.PENDING, 0, EARLIER, EARLIER),
        (OwnState(started_at=NOW + 5), Phase.PENDING, 0, NOW, NOW),
        (OwnState(epoch=-1), Phase.PENDING, 0, NOW, NOW),
        (OwnState(epoch=3, started_at=EARLIER), Phase.PENDING, 3, EARLIER, None),
        (OwnState(OwnVerdict.SUSPENDED, epoch=2, started_at=EARLIER), Phase.SUSPENDED, 2, None, None),
    ],
)
def test_a_new_record_begins_with_what_the_object_says(
    own: OwnState | None, phase: Phase, epoch: int, started_at: float | None, epoch_at: float | None
) -> None:
    made = first(FOUR, View(own=own), NOW)
    assert (made.phase, made.phase_at, made.generation) == (phase, NOW, FOUR.generation)
    assert (made.epoch, made.restarts, made.gang_restarts) == (epoch, epoch, epoch)
    assert (made.started_at, made.epoch_at) == (started_at, epoch_at)


@pytest.mark.parametrize(
    ("own", "phase", "reason", "message"),
    [
        (OwnState(OwnVerdict.SUCCEEDED), Phase.SUCCEEDED, "Succeeded", "the Experiment reports that it has succeeded"),
        (OwnState(OwnVerdict.SUCCEEDED, "JobSucceeded", "all well"), Phase.SUCCEEDED, "JobSucceeded", "all well"),
        (OwnState(OwnVerdict.FAILED), Phase.FAILED, "Failed", "the Experiment reports that it has failed"),
        (OwnState(OwnVerdict.FAILED, "BackoffLimit", "too many"), Phase.FAILED, "BackoffLimit", "too many"),
    ],
)
def test_the_verdict_of_the_controller_is_the_verdict(own: OwnState, phase: Phase, reason: str, message: str) -> None:
    after = followed(own=own)
    assert (after.phase, after.reason, after.message, after.finished_at) == (phase, reason, message, NOW)


def test_at_a_success_members_that_have_ended_count_as_ready_and_never_more_than_the_plan_has() -> None:
    own = OwnState(OwnVerdict.SUCCEEDED)
    assert followed(done(0), done(1), pod(2), own=own).ready == 3
    assert followed(*(done(rank) for rank in range(6)), own=own).ready == 4


@pytest.mark.parametrize("own", [None, NOTHING, OwnState(word="Running"), OwnState(epoch=1)])
def test_while_the_controller_reports_nothing_new_the_record_stays(own: OwnState | None) -> None:
    assert follow(context(pod(0), own=own, epoch=2)) == Followed(record(phase=Phase.RUNNING, epoch=2))


@pytest.mark.parametrize("phase", [Phase.SUCCEEDED, Phase.FAILED])
@pytest.mark.parametrize(
    "own", [NOTHING, OwnState(epoch=1), OwnState(OwnVerdict.SUSPENDED), OwnState(OwnVerdict.FAILED)]
)
def test_a_run_that_has_finished_stays_so_whatever_its_object_says(phase: Phase, own: OwnState) -> None:
    assert followed(pod(0), own=own, phase=phase) == record(phase=phase)


def test_a_suspension_ends_the_epoch_and_keeps_its_number() -> None:
    after = followed(pod(0), own=OwnState(OwnVerdict.SUSPENDED), epoch=2, started_at=EARLIER, assembled_at=EARLIER)
    assert (after.phase, after.phase_at, after.epoch) == (Phase.SUSPENDED, NOW, 2)
    assert (after.started_at, after.assembled_at, after.epoch_at) == (None, None, None)
    assert followed(own=OwnState(OwnVerdict.SUSPENDED), phase=Phase.SUSPENDED) == record(phase=Phase.SUSPENDED)


@pytest.mark.parametrize(
    ("stated", "started_at"),
    [(None, NOW), (EARLIER - 1, NOW), (NOW - 10, NOW - 10), (NOW + 10, NOW)],
    ids=["not stated", "before the suspension", "after it", "in the future"],
)
def test_a_resumed_run_starts_when_its_object_says_so_after_the_suspension(
    stated: float | None, started_at: float
) -> None:
    after = followed(own=OwnState(started_at=stated), phase=Phase.SUSPENDED, phase_at=EARLIER)
    assert (after.phase, after.started_at, after.epoch_at) == (Phase.PENDING, started_at, NOW)


def test_a_higher_epoch_is_a_restart_by_the_controller() -> None:
    after = followed(own=OwnState(epoch=3), epoch=1, restarts=1, gang_restarts=1, assembled_at=EARLIER)
    assert (after.phase, after.epoch, after.restarts, after.gang_restarts) == (Phase.RESTARTING, 3, 3, 3)
    assert (after.cause, after.broken_at) == (Cause(1, "RestartedByController", "", NOW), NOW)
    assert after.assembled_at is None


@pytest.mark.parametrize(
    ("member", "before", "rank", "reason"),
    [
        (crashed(1), Cause(0, "AppFailed", "", EARLIER), -1, "AppFailed"),
        (crashed(1), Cause(-1, "AppFailed", "of an older epoch", EARLIER), 1, "Error"),
        (removed(0), None, -1, "RestartedByController"),
    ],
    ids=["the known one of its epoch before any other", "the member that failed", "no pod that the restart deletes"],
)
def test_a_restart_by_the_controller_has_a_cause(member: Pod, before: Cause | None, rank: int, reason: str) -> None:
    after = followed(member, own=OwnState(epoch=1), cause=before)
    cause = sure(after.cause)
    assert (after.epoch, cause.epoch, cause.rank, cause.reason) == (1, 0, rank, reason)


def test_of_a_watched_run_failures_that_are_the_same_are_counted_and_another_one_begins_anew() -> None:
    kept = record(phase=Phase.RUNNING)
    counts = []
    for number, code in enumerate((7, 7, 7, 8)):
        end = Exit("main", code, 0, "Error", "ssh: no route to host", NOW + number)
        failed = pod(2, uid=f"launcher-{number}", phase=PodPhase.FAILED, ready=False, exit=end)
        seen = view(pod(0), pod(1), failed, pod(3))
        kept = follow(Context.at(FOUR, kept, seen, NOW + number)).record
        counts.append((sure(kept.same_failure).count, kept.cause.uid if kept.cause else ""))
    assert counts == [(1, "launcher-0"), (2, "launcher-1"), (3, "launcher-2"), (1, "launcher-3")]


def test_a_second_restart_before_the_run_goes_on_is_counted_and_broken_since_the_first() -> None:
    after = followed(own=OwnState(epoch=2), phase=Phase.RESTARTING, epoch=1, restarts=1, broken_at=EARLIER)
    assert (after.phase, after.phase_at, after.epoch, after.restarts) == (Phase.RESTARTING, NOW, 2, 2)
    assert after.broken_at == EARLIER


def test_the_next_attempt_of_a_suspended_run_is_no_restart() -> None:
    after = followed(own=OwnState(epoch=1), phase=Phase.SUSPENDED, phase_at=EARLIER)
    assert (after.phase, after.epoch, after.restarts, after.cause) == (Phase.PENDING, 1, 0, None)


def test_of_a_controller_that_does_not_count_the_newest_pods_say_the_epoch() -> None:
    uncounted = OwnState(epoch=-1)
    assert followed(pod(0, epoch=0), pod(0, epoch=2), own=uncounted).epoch == 2
    assert followed(own=uncounted).epoch == 0


@pytest.mark.parametrize(
    ("pods", "begun"), [((), True), ((pod(0),), False), ((pod(0), pod(1, epoch=1)), True), ((crashed(0),), True)]
)
def test_a_restart_begins_when_old_pods_are_gone_or_new_ones_are_there(pods: tuple[Pod, ...], begun: bool) -> None:
    assert begins(context(*pods, own=NOTHING, phase=Phase.RESTARTING, epoch=1)) is begun


def test_a_failure_that_the_controller_reports_is_the_cause_since_it_was_first_reported() -> None:
    cause = Cause(0, "AppFailed", "exit code 1", NOW)
    after = followed(crashed(1), own=REPORTED)
    assert (after.phase, after.cause) == (Phase.RUNNING, cause)
    again = follow(context(own=REPORTED, now=NOW + 5, cause=cause)).record
    assert again.cause == cause


@pytest.mark.parametrize("before", [Cause(-1, "Error", "older", EARLIER), Cause(0, "Error", "", EARLIER, pod="run-1")])
def test_a_reported_failure_replaces_the_cause_of_an_older_epoch_and_that_of_a_member(before: Cause) -> None:
    cause = sure(followed(own=REPORTED, cause=before).cause)
    assert (cause.epoch, cause.reason) == (0, "AppFailed")


def test_a_member_that_fails_is_the_cause_and_the_run_goes_on() -> None:
    after = followed(pod(0), crashed(1), own=NOTHING)
    assert after.phase is Phase.RUNNING
    assert after.cause is not None
    assert (after.cause.rank, after.cause.exit_code) == (1, 1)
    known = replace(after.cause, at=1.0)
    assert followed(pod(0), crashed(1), own=NOTHING, cause=known).cause == known, "the same pod is not taken in again"


@pytest.mark.parametrize(
    ("member", "phase", "own"),
    [
        (crashed(1), Phase.RESTARTING, NOTHING),
        (crashed(1), Phase.SUSPENDED, OwnState(OwnVerdict.SUSPENDED)),
        (pod(1, disruption="PreemptionByScheduler"), Phase.RUNNING, NOTHING),
    ],
)
def test_a_failure_of_a_gang_that_is_not_wanted_and_a_disruption_that_has_not_begun_are_no_cause(
    member: Pod, phase: Phase, own: OwnState
) -> None:
    assert followed(member, own=own, phase=phase).cause is None


def test_labelled_pods_have_succeeded_when_all_have() -> None:
    after = followed(*map(done, range(4)), own=ASK)
    assert (after.phase, after.message, after.ready) == (Phase.SUCCEEDED, "all 4 members succeeded", 4)


@pytest.mark.parametrize(
    "pods",
    [
        (done(0), done(1), done(2), pod(3)),
        (crashed(0, EARLIER), done(1), done(2), pod(3)),
        (crashed(0, EARLIER), done(1), done(2)),
        (),
    ],
    ids=["one runs", "one failed and one runs", "one has no pod yet", "no pod"],
)
def test_labelled_pods_go_on_while_one_runs_or_is_missing(pods: tuple[Pod, ...]) -> None:
    followed_now = follow(context(*pods, own=ASK))
    assert (followed_now.record.phase, followed_now.wake_at) == (Phase.RUNNING, None)


@pytest.mark.parametrize(
    ("at", "phase_at", "due"),
    [(NOW - 10, EARLIER, NOW - 10 + REPLACED_WITHIN), (0.0, NOW - 20, NOW - 20 + REPLACED_WITHIN)],
    ids=["since the last end", "since the phase began, where no end is known"],
)
def test_labelled_pods_that_have_ended_fail_when_nothing_replaced_them(at: float, phase_at: float, due: float) -> None:
    pods = (crashed(0, at), crashed(1, at), done(2), done(3))
    waits = follow(context(*pods, own=ASK, phase_at=phase_at))
    assert (waits.record.phase, waits.wake_at) == (Phase.RUNNING, due)
    over = follow(context(*pods, own=ASK, phase_at=phase_at, now=due))
    last = at or due
    assert (over.record.phase, over.record.reason, over.record.finished_at) == (Phase.FAILED, "MembersFailed", last)
    assert over.record.message.startswith("all 4 pods have ended: rank 0 (")
    assert over.wake_at is None


def test_labelled_pods_that_failed_without_a_known_cause_fail_too() -> None:
    pods = [crashed(rank, EARLIER) for rank in range(4)]
    after = followed(*pods, own=ASK, phase=Phase.RESTARTING)
    assert (after.phase, after.message) == (Phase.FAILED, "all 4 pods have ended: a member failed")


@pytest.mark.parametrize("phase", [Phase.FAILED, Phase.SUCCEEDED])
def test_labelled_pods_that_come_after_the_end_are_another_run(phase: Phase) -> None:
    after = followed(pod(0), own=ASK, phase=phase, finished_at=EARLIER, restarts=2)
    assert (after.phase, after.started_at, after.epoch_at) == (Phase.PENDING, NOW, NOW)
    assert (after.finished_at, after.restarts) == (None, 0)


SIDECAR_RUNS = pod(0, exit=Exit("main", 0, 0, "Completed", "", EARLIER))


@pytest.mark.parametrize(
    ("late", "phase"),
    [
        ((), Phase.FAILED),
        ((done(0),), Phase.FAILED),
        ((pod(0, terminating=True),), Phase.FAILED),
        ((SIDECAR_RUNS,), Phase.SUCCEEDED),
    ],
    ids=["none", "ended", "terminating", "a sidecar runs on"],
)
def test_labelled_pods_that_are_over_or_going_are_no_other_run(late: tuple[Pod, ...], phase: Phase) -> None:
    assert followed(*late, own=ASK, phase=phase) == record(phase=phase)
    assert followed(SIDECAR_RUNS, own=ASK, phase=Phase.FAILED).phase is Phase.PENDING


def test_the_end_of_a_deleted_member_waits_for_what_its_object_says_of_it() -> None:
    case = context(pod(0), removed(1), own=OwnState())
    early = follow(case)
    assert (early.record.cause, early.wake_at) == (None, NOW + REPORTED_WITHIN)
    later = follow(Context.at(case.plan, early.record, case.view, NOW + REPORTED_WITHIN)).record
    assert later.cause is not None
    assert (later.cause.rank, later.cause.reason) == (1, "PodDeleted")


def test_a_deleted_pod_that_was_removed_meanwhile_and_not_replaced_is_the_cause() -> None:
    seen, gone = view(pod(0), removed(1)), removed(1)
    seen.own = OwnState()

    def cause(now: float) -> Cause | None:
        return follow(Context.at(FOUR, record(phase=Phase.RUNNING), seen, now)).record.cause

    seen.change(gone, None)
    assert cause(NOW) is None
    found = sure(cause(NOW + REPORTED_WITHIN))
    assert (found.rank, found.reason) == (1, "PodDeleted")
    seen.change(None, pod(1, uid="next"))
    assert cause(NOW + REPORTED_WITHIN) is None


def test_a_member_that_failed_by_itself_is_the_cause_beside_a_deleted_one() -> None:
    cause = sure(followed(removed(0), crashed(1), own=OwnState()).cause)
    assert (cause.rank, cause.reason) == (1, "Error")


@pytest.mark.parametrize(
    ("at", "own"),
    [(0.0, OwnState()), (NOW + 60, OwnState()), (NOW, ASK)],
    ids=["an unknown time", "a time in the future", "labelled pods, which have no object"],
)
def test_where_nothing_can_be_waited_for_a_deleted_member_is_the_cause(at: float, own: OwnState) -> None:
    assert followed(pod(0), removed(1, at), own=own).cause is not None


KNOWN = Stuck("ImagePull", "the image demo:typo cannot be pulled", "2", NOW - 104)


def test_the_end_that_a_controller_gives_a_run_says_what_blocked_the_gang() -> None:
    own = OwnState(OwnVerdict.FAILED, reason="DeadlineExceeded", message="Job was active longer than its deadline")
    after = followed(*map(pod, range(4)), own=own, stuck=KNOWN)
    assert (after.phase, after.reason) == (Phase.FAILED, "DeadlineExceeded")
    assert after.cause is not None
    assert (after.cause.rank, after.cause.reason, after.cause.known_for) == (2, "ImagePull", 104)
    assert after.message == (
        f"{own.message}; rank 2 ({pod(2).name}) blocked the gang for 104s (ImagePull: {KNOWN.evidence})"
    )
    assert follow(context(*map(pod, range(4)), own=own).with_record(after)).record.message == after.message


def test_an_end_and_a_restart_keep_what_blocked_the_gang_before_a_failure_and_where_nothing_failed() -> None:
    blocked = f"rank 2 ({pod(2).name}) blocked the gang for 104s (ImagePull: {KNOWN.evidence})"
    after = followed(pod(0), crashed(1), pod(2), own=OwnState(OwnVerdict.FAILED), stuck=KNOWN)
    assert after.cause is not None
    assert (after.cause.rank, after.cause.reason, after.cause.final) == (1, "Error", True)
    assert sentence(after.cause).endswith(f"ended with exit code 1 on node node-1; before that, {blocked}")
    assert after.message == f"the Experiment reports that it has failed; before that, {blocked}"
    later = followed(pod(0), crashed(1, EARLIER), own=OwnState(OwnVerdict.FAILED), stuck=replace(KNOWN, since=NOW - 9))
    assert sentence(sure(later.cause)).endswith("ended with exit code 1 on node node-1")
    assert later.message == "the Experiment reports that it has failed"
    restarted = sure(followed(pod(0), crashed(1), pod(2), own=OwnState(epoch=1), stuck=KNOWN).cause)
    assert (restarted.rank, restarted.before) == (1, blocked)
    again = followed(*map(pod, range(4)), own=OwnState(epoch=1), stuck=KNOWN)
    assert sentence(sure(again.cause)) == f"{blocked}; then its controller restarted it"


def test_the_end_of_labelled_pods_has_what_blocked_them_before_one_failed() -> None:
    pods = (crashed(0, NOW - 60), crashed(1, NOW - 60), done(2), done(3))
    known = replace(KNOWN, since=NOW - 90)
    after = followed(*pods, own=ASK, stuck=known)
    assert after.message.endswith(
        f"; before that, rank 2 ({pod(2).name}) blocked the gang for 90s (ImagePull: {KNOWN.evidence})"
    )


def test_an_end_without_a_cause_of_its_own_is_not_blamed_on_an_earlier_epoch() -> None:
    earlier = Cause(0, "ImagePull", "no such image", EARLIER, rank=2, evidence="its controller restarted it")
    after = followed(pod(0), own=OwnState(OwnVerdict.FAILED, epoch=1, message="too late"), epoch=1, cause=earlier)
    assert (after.message, after.cause) == ("too late", earlier)


def test_a_run_that_its_controller_calls_succeeded_has_no_cause() -> None:
    after = followed(*map(done, range(4)), own=OwnState(OwnVerdict.SUCCEEDED), stuck=KNOWN)
    assert (after.phase, after.cause) == (Phase.SUCCEEDED, None)


def test_the_first_pod_says_when_an_epoch_began() -> None:
    assert epoch_at(context(pod(0, created=NOW - 50), pod(1, created=NOW - 60))) == NOW - 60
    for strange in (context(), context(pod(0)), context(pod(0, created=NOW + 9))):
        assert epoch_at(strange) == NOW, "a time that is unknown or lies ahead is now"


def test_a_daemon_that_starts_later_has_the_clock_of_a_restarted_run_go_on() -> None:
    seen = view(*(pod(n, epoch=2) for n in range(4)), epoch=2)
    seen.own = OwnState(epoch=2, started_at=NOW - 900)
    for member in list(seen.pods()):
        seen.change(member, replace(member, created=NOW - 60))
    found = decide(FOUR, None, seen, NOW).record
    for _ in range(3):
        found = decide(FOUR, found, seen, NOW).record
    assert (found.phase, found.epoch) == (Phase.ASSEMBLING, 2)
    assert (found.started_at, found.epoch_at) == (NOW - 900, NOW - 60)
