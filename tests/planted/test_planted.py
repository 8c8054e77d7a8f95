"""The simulation catches planted bugs: here those that cost less than a few seconds; ``python -m tests.planted`` plays
all."""

import pytest

from muster.daemon.steps import status_writer as status_writer
from muster.reconcilers.status import write_status
from muster.state.facts import presence
from tests.planted import (
    changing,
    deciding,
    hunting,
    knowing,
    queueing,
    repairing,
    run_kinds,
    saying,
    spending,
    timing,
    trusting,
    watching,
    writing,
)
from tests.planted.bug import Bug, Hunt, Swaps, bug, planted, swap
from tests.planted.catalogue import BUGS, PAIRS

CAUGHT = [
    (deciding.epoch_in_memory, Hunt("crash", "member-fails", most=30)),
    (deciding.deadline_in_a_timer, Hunt("crash", "total-passes", most=30)),
    (writing.deleted_before_persisted, Hunt("clean", "member-fails")),
    (deciding.suspended_pods_stay, Hunt("clean", "suspended")),
    (deciding.cancelled_pods_stay, Hunt("clean", "cancelled")),
    (deciding.coordinator_first_ignored, Hunt("clean", "coordinator-first")),
    (deciding.claim_forgotten, Hunt("clean", "shared-volume")),
    (deciding.ttl_from_the_start, Hunt("clean", "ttl")),
    (deciding.deleted_before_its_end, Hunt("clean", "ttl-zero")),
    (deciding.gates_between_groups_ignored, Hunt("clean", "staged", operator="jobset")),
    (watching.found_by_name_alone, Hunt("clean", "same-name")),
    (watching.old_answer_credited, Hunt("slow-answer", "survivors-hang")),
    (timing.backoff_never_grows, Hunt("clean", "fails-again")),
    (timing.deletion_left_to_others, Hunt("clean", "finalizer-on-experiment")),
    (timing.all_at_once, Hunt("clean", "happy", operator="jobset-sequential")),
    (saying.image_stuck_late, Hunt("clean", "image-not-pulled")),
    (saying.refusal_without_words, Hunt("clean", "webhook-denies")),
    (saying.deadline_forgets_what_was_known, Hunt("clean", "never-arrives-fails")),
    (knowing.question_is_work, Hunt("clean", "hang-asked-late")),
    (knowing.cancel_forgets, Hunt("clean", "image-cancel")),
    (knowing.restart_counted_once, Hunt("clean", "gang-restarts-often", size=1)),
    (saying.slow_rank_unsaid, Hunt("clean", "slow-rank", operator="pytorch")),
    (trusting.every_pod_admitted, Hunt("clean", "forged-rank")),
    (trusting.pod_phase_decides, Hunt("clean", "sidecar-runs-on")),
    (watching.own_writes_unread, Hunt("hold", "member-fails", most=30)),
    (watching.read_dated_by_its_answer, Hunt("late-list", "ends-before-its-deadline")),
    (changing.pod_unnamed, Hunt("clean", "preempted")),
    (changing.ended_members_run, Hunt("clean", "gated", operator="jobset-sequential")),
    (changing.nothing_queued_at_takeover, Hunt("takeover", "member-fails")),
    (spending.slots_for_whoever_comes, Hunt("clean", "noisy-neighbours")),
    (spending.budget_ignored, Hunt("clean", "readiness-flaps", operator="xgboost")),
    (spending.flaps_undamped, Hunt("clean", "coordinator-comes-and-goes")),
    (spending.refusal_stands, Hunt("clean", "webhook-denies")),
    (spending.refused_for_good, Hunt("clean", "quota-exceeded")),
    (writing.conflicting_delete_dropped, Hunt("error", "suspended", size=1, most=200)),
    (queueing.unadmitted_pods_created, Hunt("clean", "queue-one-by-one")),
    (queueing.quota_given_back_early, Hunt("clean", "queue-preempts")),
    (queueing.place_lost_by_a_restart, Hunt("clean", "queue-keeps-place")),
    (repairing.successor_beside_its_predecessor, Hunt("clean", "preempted-member-runs-again", operator="jobset")),
    (repairing.member_without_a_wait, Hunt("clean", "member-runs-again", operator="jobset")),
    (repairing.budget_of_gangs_only, Hunt("clean", "member-gives-up", operator="jobset")),
    (repairing.rule_limit_ignored, Hunt("clean", "rule-gives-up", operator="jobset")),
    (repairing.only_the_failed_member_of_a_job, Hunt("clean", "job-runs-again", operator="jobset")),
    (repairing.bad_node_taken_again, Hunt("clean", "node-avoided")),
    (repairing.jitter_takes_all_of_the_wait, Hunt("clean", "jitter")),
    (repairing.each_failure_is_the_same, Hunt("clean", "failures-differ")),
    (repairing.steps_are_no_advance, Hunt("clean", "same-failure-later")),
    (repairing.numbers_make_another_failure, Hunt("clean", "same-failure")),
    (run_kinds.record_left_out_at_the_end, run_kinds.hunt("clean", "jobset-restarts")),
    (run_kinds.suspension_counted_as_a_restart, run_kinds.hunt("clean", "jobset-suspended")),
    (run_kinds.completed_and_failed, run_kinds.hunt("clean", "jobset-gives-up")),
    (run_kinds.every_condition_dated_anew, run_kinds.hunt("clean", "jobset-in-order")),
    (run_kinds.empty_list_taken_for_a_difference, run_kinds.hunt("clean", "jobset-runs")),
    (run_kinds.pod_of_a_job_replaced_at_once, run_kinds.hunt("clean", "jobset-pod-replaced-twice")),
    (run_kinds.every_restart_counts, run_kinds.hunt("clean", "jobset-ignores-its-maximum")),
    (run_kinds.not_found_is_gone_for_good, run_kinds.hunt("clean", "jobset-ends-unserved")),
    (run_kinds.free_restarts_uncounted, run_kinds.hunt("clean", "jobset-ignores-its-maximum")),
    (watching.cache_by_name, Hunt("stranger", "coordinator-first", most=130)),
]


FEW = 10
"""Hunts of `make test`: every sixth. `make test-slow` has the others."""


@pytest.mark.parametrize(
    ("case", "hunt"),
    [
        pytest.param(case, hunt, id=case.name, marks=() if at % (len(CAUGHT) // FEW) == 0 else pytest.mark.slow)
        for at, (case, hunt) in enumerate(CAUGHT)
    ],
)
def test_a_planted_bug_is_caught_and_the_undamaged_daemon_passes(case: Bug, hunt: Hunt) -> None:
    caught = hunting.play_until_caught([case], hunt, hunting.lines(hunt), enough=1)
    assert caught.violated, f"{case.name} was not caught by {len(caught.played)} plans"
    assert not hunting.violations_of([], caught.violated[0][0])


def test_patches_are_removed_after_the_plan() -> None:
    with planted([writing.blind_write]):
        assert vars(status_writer)["write_status"] is not write_status
    assert vars(status_writer)["write_status"] is write_status


def test_a_bug_that_does_not_fit_the_product_catches_nothing() -> None:
    @bug(Hunt("clean", "happy"))
    def without_arguments() -> Swaps:
        """A patch that was forgotten when its target got an argument."""
        return [swap(presence, "none_older", lambda: True)]

    with pytest.raises(hunting.Misfit, match="without-arguments does not fit"):
        hunting.violations_of([without_arguments], "happy:n=1")


def test_the_plans_of_a_hunt_are_always_the_same() -> None:
    hunt = Hunt("crash", "happy", most=10)
    assert hunting.lines(hunt) == hunting.lines(hunt)
    assert len(set(hunting.lines(hunt))) == 10


def test_every_bug_finds_what_it_replaces() -> None:
    for case in BUGS:
        with planted([case]):
            pass


def test_every_bug_has_a_name_a_description_and_plans() -> None:
    assert len({case.name for case in BUGS}) == len(BUGS) >= 50
    assert all(case.about and case.hunts for case in BUGS)
    assert all(pair.hunts for pair in PAIRS)
