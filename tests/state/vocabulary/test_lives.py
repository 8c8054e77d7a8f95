"""A field of the status declares how long it holds and whether it moves with the wall clock, and so it is."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec.structs import replace

from muster.api.gang import MAX_MEMBERS, JobRestarts
from muster.api.status import ExperimentStatus
from muster.api.wire.kinds import Time, WholeTime
from muster.api.wire.structs import Life, Wire, shape_of
from muster.state.view.engine_facts import EngineFacts, LiveRead, Refusal, RefusedAction
from muster.state.view.probe_result import ProbeResult
from muster.state.view.progress import Progress
from muster.state.view.roll import RollAnswer
from muster.state.view.turns import WriteBudget
from muster.state.view.view import View
from muster.state.vocabulary.record import Phase, Record, restarts_of
from muster.state.vocabulary.transitions import enter, next_epoch
from muster.state.vocabulary.wall_time import WallTime, moved, moving
from tests.builders import NOW, answer

TIMES = {get_args(each)[1] for each in (Time, WholeTime)}
ENTERED = {"phase", "phase_at"}
"""What every change of phase sets."""
FIELDS = {field.name: field for field in shape_of(ExperimentStatus).fields}
HOUR = 3_600.0


def without_annotations(hint: Any) -> Any:
    """The type itself, without its metadata and without None."""
    if get_origin(hint) is Annotated:
        return without_annotations(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return without_annotations(next(each for each in get_args(hint) if each is not NoneType))
    return hint


def filled(kind: type[Any]) -> Any:
    """A struct no field of which has its default."""
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{name: sample(hints[name]) for name in kind.__struct_fields__})


def sample(hint: Any) -> Any:
    kind = without_annotations(hint)
    if get_origin(kind) is tuple:
        return (sample(get_args(kind)[0]),)
    if issubclass(kind, msgspec.Struct):
        return filled(kind)
    if issubclass(kind, StrEnum):
        return Phase.RUNNING
    return {str: "1", int: 7, float: NOW, bool: True}[kind]


def walk(value: Any, path: str = "") -> Iterator[tuple[str, Wire | None, bool, Any]]:
    """Each value in a struct that is no struct itself: its path, its declaration, whether it is a time, and it."""
    for name, hint in get_type_hints(type(value), include_extras=True).items():
        held, here = getattr(value, name), f"{path}.{name}"
        declared = next((each for each in metadata(hint) if isinstance(each, Wire)), None)
        if not isinstance(held, tuple):
            held = (held,)
        for each in held:
            if isinstance(each, msgspec.Struct):
                yield from walk(each, here)
            else:
                yield here, declared, any(mark in TIMES for mark in metadata(hint)), each


def metadata(hint: Any) -> Iterator[Any]:
    """All metadata in an annotation."""
    if get_origin(hint) is Annotated:
        yield from get_args(hint)[1:]
    for each in get_args(hint) if get_origin(hint) in (Annotated, Union, UnionType, tuple) else ():
        yield from metadata(each)


RECORD: Record = filled(Record)
EVERY = [(path, declared, is_time) for path, declared, is_time, _ in walk(RECORD)]


@pytest.mark.parametrize(
    ("after", "life"),
    [
        (next_epoch(RECORD, Phase.RESTARTING, NOW + 1), Life.EPOCH),
        (next_epoch(RECORD, Phase.QUEUED, NOW + 1), Life.EPOCH),
        (next_epoch(RECORD, Phase.SUSPENDED, NOW + 1), Life.START),
        (enter(RECORD, Phase.RESTARTING, NOW + 1), Life.PHASE),
        (enter(RECORD, Phase.FAILED, NOW + 1), Life.PHASE),
    ],
    ids=["restart", "eviction", "suspension", "phase", "end"],
)
def test_a_field_is_at_its_default_when_its_life_is_over_and_kept_until_then(after: Record, life: Life) -> None:
    epoch = {"epoch"} if life >= Life.EPOCH else set()
    for name, field in FIELDS.items():
        if name in ENTERED | epoch:
            continue
        expected = getattr(RECORD, name)
        if field.wire.life <= life:
            expected = field.default
        elif name == "job_restarts" and life >= Life.EPOCH:
            expected = (JobRestarts("1", restarts=7, counted=7),)
        assert getattr(after, name) == expected, name


def test_the_sample_has_no_default_anywhere() -> None:
    for name, field in FIELDS.items():
        assert getattr(RECORD, name) != field.default, name


def test_a_field_that_is_described_as_of_this_epoch_is_declared_so() -> None:
    spoken = {name for name, field in FIELDS.items() if "this epoch" in field.wire.description}
    assert len(spoken) > 8
    assert {name for name in spoken if FIELDS[name].wire.life > Life.EPOCH} == set()


def test_jobs_whose_counts_are_equal_in_the_next_epoch_share_a_row() -> None:
    rows = (JobRestarts("0", failures=1), JobRestarts("1", 2, failures=1), JobRestarts("2", 2))
    after = next_epoch(replace(RECORD, job_restarts=rows), Phase.RESTARTING, NOW)
    assert after.job_restarts == (JobRestarts("1-2", 2),)


def test_ranges_of_a_damaged_status_name_no_more_jobs_than_a_gang_may_have_members() -> None:
    assert len(restarts_of((JobRestarts("0-999999999"),))) == MAX_MEMBERS


@pytest.mark.parametrize("step", [HOUR, -40.0])
@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.SUSPENDED, Phase.SUCCEEDED])
def test_a_step_of_the_clock_moves_each_time_that_is_declared_to_move_and_no_other(phase: Phase, step: float) -> None:
    before = replace(RECORD, phase=phase)
    after = walk(moved(before, step))
    for (path, declared, _, was), (_, _, _, now) in zip(walk(before), after, strict=True):
        moves = declared is not None and (declared.after_end if before.finished else declared.moves)
        assert now == (was + step if moves else was), path


@pytest.mark.parametrize(("declared", "is_time"), [each for _, *each in EVERY], ids=[path for path, *_ in EVERY])
def test_every_time_moves_or_says_why_not(declared: Wire | None, is_time: bool) -> None:
    if declared is None:
        assert not is_time
        return
    assert (declared.moves or bool(declared.stays)) is is_time
    assert not (declared.moves and declared.stays)
    assert declared.moves or not declared.after_end


LENGTHS = {
    (Refusal, "retry_after"), (RefusedAction, "pause"), (ProbeResult, "gap"), (RollAnswer, "latency"),
    (Progress, "rate"), (Progress, "longest"), (Progress, "pause"), (Progress, "unwatched"),
}  # fmt: skip
"""Numbers in the memory of the view that are no times."""
HOLDERS: tuple[type[Any], ...] = (
    View,
    EngineFacts,
    WriteBudget,
    ProbeResult,
    RollAnswer,
    Progress,
    Refusal,
    RefusedAction,
)


def test_every_number_of_the_view_that_is_no_length_moves() -> None:
    for kind in HOLDERS:
        hints = get_type_hints(kind, include_extras=True)
        names = [each.name for each in fields(kind)] if is_dataclass(kind) else list(kind.__struct_fields__)
        floats = {name for name in names if without_annotations(hints[name]) is float}
        times = {name for name in floats if get_args(WallTime)[1] in metadata(hints[name])}
        assert floats - times == {name for holder, name in LENGTHS if holder is kind}, kind
        assert times <= set(moving(kind))


def test_a_step_moves_the_times_of_the_view_and_forgets_the_live_read() -> None:
    refusal = Refusal("Forbidden", "no", final=False, retry_after=3.0)
    here = View(
        unsaved_since=NOW,
        done_at=NOW + 1,
        probe=ProbeResult(0, answer(at=NOW + 2), NOW, True, 0, (), False, False, NOW + 3, back_at=NOW + 4, gap=5.0),
        progress=Progress(0, NOW, NOW - 1, rate=2.0, longest=9.0),
        writes=WriteBudget(NOW + 6),
    )
    here.engine.refused = RefusedAction(refusal, "CreatePods", NOW, reported=False, pause=5.0, retry_at=NOW + 5)
    here.engine.live_read = LiveRead(NOW, 1)
    here.clock_stepped(HOUR)
    assert (here.unsaved_since, here.done_at, here.failed_at) == (NOW + HOUR, NOW + HOUR + 1, None)
    assert here.writes.spent == NOW + HOUR + 6
    then = NOW + HOUR
    assert here.probe == ProbeResult(
        0, answer(at=then + 2), then, True, 0, (), False, False, then + 3, back_at=then + 4, gap=5.0
    )
    assert here.progress == Progress(0, then, then - 1, rate=2.0, longest=9.0)
    assert here.engine.refused == RefusedAction(
        refusal, "CreatePods", then, reported=False, pause=5.0, retry_at=then + 5
    )
    assert here.engine.live_read is None


def test_a_time_that_is_not_known_is_not_moved() -> None:
    here = View(probe=ProbeResult(0, answer(at=NOW), NOW, False, 0, (), False, False))
    here.clock_stepped(HOUR)
    assert here.probe is not None
    assert (here.probe.silent_at, here.probe.back_at, here.probe.served_at) == (None, 0.0, 0.0)
    assert here.writes.spent == 0.0
