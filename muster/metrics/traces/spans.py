"""The spans that a transition of the record closes.

An experiment is one trace. Its root span is the whole life, each epoch is a span below it, and the stages of an epoch
(``waiting``, ``scheduling``, ``starting``, ``assembling``, ``running``) are spans below the epoch. A span is made when
it is over, from the times of the record alone: nothing is kept between two transitions, so a restart of the daemon
loses no open span.

The ids of trace and spans are digests of the experiment's uid, the epoch and the name. Two daemons that close the same
epoch make the same spans, and the root span that is sent last is the parent of epochs that were sent days before.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise

from muster.state.facts.sentences import sentence
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause, Phase, Record, StoryLine

Value = str | int | float | bool

ROOT = "experiment"
STAGES = ("scheduling", "starting", "assembling", "running")
"""The stages of an epoch, each from one of its times to the next."""


@dataclass(frozen=True, slots=True)
class Event:
    """A line of the story."""

    name: str
    at: float
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Span:
    """One span that is over. Times are wall seconds."""

    name: str
    trace_id: int
    span_id: int
    parent_id: int | None
    start: float
    end: float
    attributes: Mapping[str, Value] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    error: str = ""
    """Why it ended badly; empty if it did not."""


def trace_id(uid: str) -> int:
    """The trace of an experiment."""
    return _digest(16, uid)


def span_id(uid: str, name: str, epoch: int = 0) -> int:
    """A span of an experiment."""
    return _digest(8, uid, name, str(epoch))


def closed_spans(plan: Plan, old: Record | None, new: Record) -> list[Span]:
    """The spans that are over because ``new`` took the place of ``old``. The times of both are of one clock."""
    if old is None or old.finished:
        return []
    ended_at = new.finished_at if new.finished and new.finished_at is not None else new.phase_at
    spans: list[Span] = []
    if new.finished or new.epoch != old.epoch:
        of_epoch = new if new.finished and new.epoch == old.epoch else old
        spans += _epoch(plan, of_epoch, new, ended_at)
    if new.finished:
        spans.append(_whole(plan, new, ended_at))
    return spans


def _epoch(plan: Plan, record: Record, new: Record, end: float) -> Iterator[Span]:
    """The span of an epoch that ended, and its stages. An epoch that never began has none."""
    if record.epoch_at is None:
        return
    uid, epoch, trace = plan.uid, record.epoch, trace_id(plan.uid)
    cause = new.cause if new.cause is not None and new.cause.epoch == epoch else None
    error = sentence(cause) if cause else (new.message if new.phase is Phase.FAILED else "")
    own = span_id(uid, "epoch", epoch)
    yield Span(
        name=f"epoch {epoch}",
        trace_id=trace,
        span_id=own,
        parent_id=span_id(uid, ROOT),
        start=record.epoch_at,
        end=max(record.epoch_at, end),
        attributes=_of_experiment(plan) | {"muster.epoch": epoch} | _of_cause(cause),
        events=_events(new.story, epoch),
        error=error,
    )
    for name, start, until in _stages(record, end):
        identity = span_id(uid, name, epoch)
        yield Span(name, trace, identity, own, start, until, {"muster.epoch": epoch})


def _stages(record: Record, end: float) -> Iterator[tuple[str, float, float]]:
    """Name, beginning and end of each stage that the epoch has reached; the last one ends with the epoch."""
    begun, waited_from = record.epoch_at, record.started_at
    if begun is not None and record.epoch == 0 and waited_from is not None and waited_from < begun:
        yield "waiting", waited_from, begun
    times = (begun, record.scheduled_at, record.assembling_at, record.assembled_at)
    reached = sorted(((at, place) for place, at in enumerate(times) if at is not None and at <= end))
    for (start, place), (until, _) in pairwise([*reached, (end, len(times))]):
        yield STAGES[place], start, until


def _whole(plan: Plan, record: Record, end: float) -> Span:
    """The root span. It begins with the first start, or with the last resumption, whichever the record knows."""
    start = record.started_at if record.started_at is not None else end
    return Span(
        name=f"{plan.operator} {plan.title}",
        trace_id=trace_id(plan.uid),
        span_id=span_id(plan.uid, ROOT),
        parent_id=None,
        start=min(start, end),
        end=end,
        attributes=_of_experiment(plan)
        | {
            "muster.phase": record.phase.value,
            "muster.reason": record.reason,
            "muster.restarts": record.restarts,
            "muster.disruptions": record.disruptions,
        },
        error=record.message if record.phase is Phase.FAILED else "",
    )


def _of_experiment(plan: Plan) -> dict[str, Value]:
    return {
        "k8s.namespace.name": plan.namespace,
        "muster.experiment": plan.title,
        "muster.operator": plan.operator,
        "muster.uid": plan.uid,
        "muster.ranks": plan.size,
    }


def _of_cause(cause: Cause | None) -> dict[str, Value]:
    if cause is None:
        return {}
    found: dict[str, Value | None] = {
        "muster.cause.reason": cause.reason,
        "muster.cause.rank": cause.rank if cause.pod else None,
        "muster.cause.exit_code": cause.exit_code,
        "k8s.pod.name": cause.pod or None,
        "k8s.node.name": cause.node or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _events(story: tuple[StoryLine, ...], epoch: int) -> tuple[Event, ...]:
    lines = (line for line in story if line.epoch == epoch)
    return tuple(Event(line.reason, line.at, {"message": line.message, "warning": line.warning}) for line in lines)


def _digest(size: int, *parts: str) -> int:
    """A number of that many bytes that is not 0, which would be no id (W3C Trace Context)."""
    return int.from_bytes(sha256("/".join(parts).encode("utf-8", "replace")).digest()[:size]) or 1
