"""The life of an experiment as OpenTelemetry spans, sent by OTLP over HTTP with the SDK (extra ``tracing``).

An experiment is one trace: its whole life, in it each epoch, and in that the stages of the epoch. A span is made when
it is over, from the times of the record alone, so a restart of the daemon loses no open span. The ids are digests of
the experiment's uid, the epoch and the name, so two daemons that close the same epoch make the same spans.

The SDK keeps spans in a bounded queue and sends them from a thread of its own, so a slow collector delays no decision.
Headers, certificates and timeouts are the SDK's environment variables (``OTEL_EXPORTER_OTLP_HEADERS`` and so on).
"""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from itertools import pairwise
from threading import Thread

import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

from muster.state.facts.sentences import sentence
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause, Phase, Record

log = structlog.get_logger()
Value = str | int | float | bool
Make = Callable[..., ReadableSpan]

ROOT = "experiment"
STAGES = ("waiting", "scheduling", "starting", "assembling", "running")
"""The stages of an epoch, each from one of its times to the next."""
LONGEST_CLOSE = 3.0
"""Seconds that the end of the daemon waits for a collector."""


class TraceExport:
    """Makes spans of transitions and sends them to a collector."""

    def __init__(self, endpoint: str, *, version: str, instance: str) -> None:
        """``endpoint`` is a collector's address, such as ``http://collector:4318``."""
        base = endpoint.rstrip("/").removesuffix("/v1/traces")  # OTLP specification, OTLP/HTTP request
        self._processor = BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/v1/traces"))
        named = {"service.name": "musterd", "service.version": version, "service.instance.id": instance}
        scope = InstrumentationScope("muster", version)
        self._span = partial(ReadableSpan, resource=Resource.create(named), instrumentation_scope=scope)

    def transition(self, plan: Plan, old: Record | None, new: Record) -> str:
        """Queue the spans that are over because ``new`` was persisted. The id of the trace (W3C Trace Context)."""
        for span in closed_spans(plan, old, new, self._span):
            self._processor.on_end(span)
        return f"{context(plan.uid).trace_id:032x}"

    async def aclose(self) -> None:
        """Send what is queued. A collector that is away delays the end of the daemon by ``LONGEST_CLOSE`` at most."""
        closing = Thread(target=self._processor.shutdown, name="traces closing", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, LONGEST_CLOSE)
        if closing.is_alive():
            log.warning("the last spans were not sent: the collector does not answer")


def closed_spans(plan: Plan, old: Record | None, new: Record, span: Make) -> Iterator[ReadableSpan]:
    """Yield the spans that are over because ``new`` took the place of ``old``. The times of both are of one clock."""
    if old is None or old.finished:
        return
    ended_at = new.finished_at if new.finished and new.finished_at is not None else new.phase_at
    if new.finished or new.epoch != old.epoch:
        yield from _epoch(plan, new if new.finished and new.epoch == old.epoch else old, new, ended_at, span)
    if new.finished:
        counts = {"muster.restarts": new.restarts, "muster.disruptions": new.disruptions}
        yield span(
            f"{plan.operator} {plan.title}",
            context(plan.uid),
            attributes=_of(plan) | counts | {"muster.phase": new.phase.value, "muster.reason": new.reason},
            status=_status(new.message if new.phase is Phase.FAILED else ""),
            start_time=_wire(min(ended_at, new.started_at or ended_at)),
            end_time=_wire(ended_at),
        )


def _epoch(plan: Plan, record: Record, new: Record, end: float, span: Make) -> Iterator[ReadableSpan]:
    """Yield the span of an epoch that ended, and its stages. An epoch that never began has none."""
    if record.epoch_at is None:
        return
    cause = new.cause if new.cause is not None and new.cause.epoch == record.epoch else None
    own, numbered = context(plan.uid, "epoch", record.epoch), {"muster.epoch": record.epoch}
    yield span(
        f"epoch {record.epoch}",
        own,
        context(plan.uid),
        attributes=_of(plan) | numbered | _of_cause(cause),
        events=[
            Event(line.reason, {"message": line.message, "warning": line.warning}, _wire(line.at))
            for line in new.story
            if line.epoch == record.epoch
        ],
        status=_status(sentence(cause) if cause else (new.message if new.phase is Phase.FAILED else "")),
        start_time=_wire(record.epoch_at),
        end_time=_wire(max(record.epoch_at, end)),
    )
    for name, start, until in _stages(record, end):
        stage = context(plan.uid, name, record.epoch)
        yield span(name, stage, own, attributes=numbered, start_time=_wire(start), end_time=_wire(until))


def _stages(record: Record, end: float) -> Iterator[tuple[str, float, float]]:
    """Yield name, beginning and end of each stage that the epoch has reached; the last one ends with the epoch."""
    waited_from = record.started_at if record.epoch == 0 else None
    times = (waited_from, record.epoch_at, record.scheduled_at, record.assembling_at, record.assembled_at)
    reached = sorted((at, place) for place, at in enumerate(times) if at is not None and at <= end)
    for (start, place), (until, _) in pairwise([*reached, (end, len(times))]):
        if start < until or place:
            yield STAGES[place], start, until


def _of(plan: Plan) -> dict[str, Value]:
    named: dict[str, Value] = {"k8s.namespace.name": plan.namespace, "muster.experiment": plan.title}
    return named | {"muster.uid": plan.uid, "muster.operator": plan.operator, "muster.ranks": plan.size}


def _of_cause(cause: Cause | None) -> dict[str, Value]:
    if cause is None:
        return {}
    found: dict[str, Value] = {"muster.cause.reason": cause.reason}
    if cause.exit_code is not None:
        found |= {"muster.cause.exit_code": cause.exit_code}
    if cause.pod:
        found |= {"muster.cause.rank": cause.rank, "k8s.pod.name": cause.pod, "k8s.node.name": cause.node or ""}
    return found


def context(uid: str, name: str = ROOT, epoch: int = 0) -> SpanContext:
    """Return the ids of a span of an experiment: digests that are not 0, which would be no id (W3C Trace Context)."""
    trace, span = (sha256(text.encode("utf-8", "replace")).digest() for text in (uid, f"{uid}/{name}/{epoch}"))
    numbers = int.from_bytes(trace[:16]) or 1, int.from_bytes(span[:8]) or 1
    return SpanContext(*numbers, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _status(error: str) -> Status:
    return Status(StatusCode.ERROR, error) if error else Status(StatusCode.UNSET)


def _wire(seconds: float) -> int:
    return round(seconds * 1e9)
