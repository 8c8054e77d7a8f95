"""Which spans the transitions of an experiment close."""

from itertools import pairwise

from msgspec.structs import replace

from muster.metrics.traces.spans import ROOT, Span, closed_spans, span_id, trace_id
from muster.state.vocabulary.actions import Action
from muster.state.vocabulary.record import Phase, Record
from tests.builders import NOW, plan, record
from tests.state.story import Story


class Recorded(Story):
    """A story that keeps every record that was written."""

    def __init__(self) -> None:
        super().__init__(plan())
        self.records: list[Record] = []

    def look(self, after: float = 0.0) -> tuple[Action, ...]:
        before, actions = self.record, super().look(after)
        if self.record is not None and self.record is not before:
            self.records.append(self.record)
        return actions

    @property
    def spans(self) -> list[Span]:
        found = closed_spans(self.plan, None, self.records[0])
        return found + [span for old, new in pairwise(self.records) for span in closed_spans(self.plan, old, new)]


def failed_once_then_done() -> Recorded:
    story = Recorded()
    story.assemble()
    story.look(100)
    story.end(2, 1)
    story.look(1)
    story.launch()
    story.look(60)
    story.launch()
    story.start()
    story.look(1)
    story.observe_probe(*range(4), passed=True)
    story.look(1)
    for rank in range(4):
        story.end(rank)
    story.look(50)
    assert story.kept.phase is Phase.SUCCEEDED
    return story


def test_each_epoch_and_the_whole_life_are_one_span() -> None:
    spans = failed_once_then_done().spans
    assert [span.name for span in spans if not span.name.endswith("ing")] == ["epoch 0", "epoch 1", "jax run"]


def test_the_stages_of_an_epoch_follow_each_other_without_a_gap() -> None:
    spans = failed_once_then_done().spans
    whole = next(span for span in spans if span.name == "epoch 1")
    stages = [span for span in spans if span.parent_id == whole.span_id]
    assert stages[0].start == whole.start
    assert stages[-1].end == whole.end
    assert all(first.end == second.start for first, second in pairwise(stages))


def test_an_epoch_that_broke_names_the_rank_and_carries_its_story() -> None:
    broken = next(span for span in failed_once_then_done().spans if span.name == "epoch 0")
    assert "rank 2" in broken.error
    assert broken.attributes["muster.cause.rank"] == 2
    assert [event.name for event in broken.events] == [
        "Started",
        "Assembling",
        "Scheduled",
        "Running",
        "CoordinatorReady",
    ]


def test_an_epoch_that_ended_well_has_no_error() -> None:
    spans = failed_once_then_done().spans
    assert [span.error for span in spans if span.name in ("epoch 1", "jax run")] == ["", ""]


def test_the_ids_come_from_uid_and_epoch_so_that_another_daemon_makes_the_same_spans() -> None:
    story = failed_once_then_done()
    spans = story.spans
    assert {span.trace_id for span in spans} == {trace_id(story.plan.uid)}
    assert spans == story.spans
    root = span_id(story.plan.uid, ROOT)
    assert [span.parent_id for span in spans if span.name.startswith("epoch")] == [root, root]
    assert len({span.span_id for span in spans}) == len(spans)


def test_a_transition_after_the_end_closes_nothing() -> None:
    story = failed_once_then_done()
    assert closed_spans(story.plan, story.kept, story.kept) == []


def test_an_epoch_that_was_never_begun_has_no_span() -> None:
    waiting = record(epoch_at=None, started_at=NOW)
    failed = replace(waiting, phase=Phase.FAILED, finished_at=NOW + 1, reason="Cancelled", message="cancelled")
    assert [span.name for span in closed_spans(plan(), waiting, failed)] == ["jax run"]
