"""The evidence of an epoch is taken before its pods are stopped, and kept with its end."""

from dataclasses import replace
from typing import Any

from muster.api.evidence import MAX_EPOCHS, MAX_FINDINGS, EpochEvidence, FindingThen, StackThen
from muster.api.status import ExperimentStatus
from muster.state.facts.causes.table import Causes
from muster.state.vocabulary.actions import DeletePods
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import Clock, plan
from tests.state.facts.test_standing_ranks import NEXT, Standing
from tests.state.story import Story

HANGS = {ClockName.PROGRESS: Clock(300.0, ClockAction.RESTART)}


def hung(**overrides: Any) -> Standing:
    """Rank 2 stands in its data loader until the clock ``progress`` ends the epoch."""
    story = Standing(clocks=HANGS, **overrides)
    story.step = 1
    story.assemble()
    story.run(60, standing=False)
    story.places[2] = NEXT
    story.stacks = ((2, ("next (data.py:41)", "main (train.py:12)")),)
    while story.kept.phase is Phase.RUNNING:
        story.run(5, standing=True)
        if story.kept.phase is Phase.RUNNING:
            story.look()
    return story


def test_the_clock_that_restarts_a_hang_leaves_where_each_rank_stood() -> None:
    story = hung()
    assert (story.kept.phase, story.kept.epoch) == (Phase.RESTARTING, 1)
    (kept,) = story.kept.evidence
    assert (kept.epoch, kept.phase, kept.next, kept.stuck) == (0, "Running", "Restarting", "Hung")
    assert kept.places == "rank 2 in next (data.py:41); 3 others in all_reduce (train.py:88)"
    assert kept.stacks == (StackThen(2, "next (data.py:41), main (train.py:12)"),)
    assert kept.findings[0].cause == Causes.HUNG.value
    assert kept.findings[0].ranks == "2"
    assert kept.at == story.now
    assert kept.stuck_at is not None
    assert kept.stuck_at < kept.at
    assert kept.began_at is not None
    assert kept.reason == "ProgressDeadlineExceeded"
    assert kept.how.startswith("the gang ended: ProgressDeadlineExceeded")
    assert "step" in kept.steps


def test_the_evidence_is_persisted_with_the_verdict_and_before_a_pod_is_deleted() -> None:
    story = hung()
    assert story.last is not None
    assert story.last.record.evidence == story.kept.evidence
    assert all(pod.epoch == 0 for action in story.last.actions if isinstance(action, DeletePods) for pod in action.pods)


def test_a_run_that_fails_keeps_what_its_last_epoch_waited_for() -> None:
    story = hung(limit=0)
    assert story.kept.phase is Phase.FAILED
    (kept,) = story.kept.evidence
    assert (kept.next, kept.reason, kept.how) == ("Failed", story.kept.reason, story.kept.message)
    assert kept.places.startswith("rank 2 in next")


def test_a_rank_that_fails_is_in_the_evidence_of_its_epoch() -> None:
    story = Story(plan())
    story.assemble()
    story.end(1, 3)
    story.look()
    (kept,) = story.kept.evidence
    assert kept.next == story.kept.phase
    assert kept.stuck == ""
    assert kept.stuck_at is None
    assert "rank 1" in kept.how
    assert [found.ranks for found in kept.findings] == ["1"]


def test_a_successful_run_has_no_evidence() -> None:
    story = Story(plan())
    story.assemble()
    for rank in range(4):
        story.end(rank)
    story.look()
    assert story.kept.phase is Phase.SUCCEEDED
    assert story.kept.evidence == ()


def test_an_epoch_that_never_began_has_no_evidence() -> None:
    story = Story(plan(limit=5))
    story.assemble()
    story.end(1, 3)
    story.look()
    assert len(story.kept.evidence) == 1
    story.plan = replace(story.plan, lifecycle=replace(story.plan.lifecycle, suspend=True))
    story.look()
    assert len(story.kept.evidence) == 1


def test_a_suspension_keeps_the_evidence_of_the_epoch_that_it_ends() -> None:
    story = Story(plan())
    story.launch()
    story.plan = replace(story.plan, lifecycle=replace(story.plan.lifecycle, suspend=True))
    story.look()
    (kept,) = story.kept.evidence
    assert (kept.epoch, kept.next) == (0, "Suspended")
    assert (kept.reason, kept.how) == ("", "")


def test_the_newest_epochs_are_kept_in_a_status_of_bounded_size() -> None:
    long = "\N{PILE OF POO}" * 5_000
    found = FindingThen("Hung", long, long, "0-3", 4, long)
    row = EpochEvidence(
        epoch=0,
        at=1.0,
        phase=long,
        next=long,
        reason=long,
        how=long,
        waited_for=long,
        stuck=long,
        stuck_by=long,
        known=long,
        steps=long,
        collectives=long,
        places=long,
        findings=(found,) * 50,
        stacks=tuple(StackThen(rank, long) for rank in range(50)),
    )
    rows = tuple(replace_epoch(row, epoch) for epoch in range(20))
    written = ExperimentStatus(evidence=rows).to_object()
    assert [each["epoch"] for each in written["evidence"]] == list(range(20 - MAX_EPOCHS, 20))
    assert len(written["evidence"][0]["findings"]) == MAX_FINDINGS
    assert len(str(written["evidence"]).encode()) < MAX_EPOCHS * 24_000
    assert ExperimentStatus.from_object(written).evidence[-1].epoch == 19


def replace_epoch(row: EpochEvidence, epoch: int) -> EpochEvidence:
    return EpochEvidence(**{name: getattr(row, name) for name in row.__struct_fields__} | {"epoch": epoch})
