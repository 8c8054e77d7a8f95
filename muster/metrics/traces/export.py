"""Sends spans by OTLP over HTTP, with the OpenTelemetry SDK (extra ``tracing``).

The SDK collects spans in a queue of bounded length and sends them from a thread of its own, so that a collector that is
slow or away delays no decision: spans that find the queue full are dropped, and the SDK's own log says so. Headers,
certificates and timeouts are the SDK's environment variables (``OTEL_EXPORTER_OTLP_HEADERS`` and so on).
"""

import asyncio
from threading import Thread

import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event as SdkEvent
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from muster.metrics.traces.spans import Span, closed_spans, trace_id
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record

log = structlog.get_logger()

PATH = "/v1/traces"
"""Where a collector takes traces (OTLP specification, OTLP/HTTP request)."""
LONGEST_CLOSE = 3.0
"""Seconds that the end of the daemon waits for a collector."""
_NANOSECONDS = 1_000_000_000


class TraceExport:
    """Makes spans of transitions and hands them to an exporter."""

    def __init__(self, exporter: SpanExporter, *, version: str, instance: str) -> None:
        self._processor = BatchSpanProcessor(exporter)
        self._scope = InstrumentationScope("muster", version)
        self._resource = Resource.create(
            {"service.name": "musterd", "service.version": version, "service.instance.id": instance}
        )

    def transition(self, plan: Plan, old: Record | None, new: Record) -> str:
        """A record was persisted in the place of ``old``: queue the spans that are over by it. Never blocks.

        The id of the trace, as W3C Trace Context writes it.
        """
        for span in closed_spans(plan, old, new):
            self._processor.on_end(self._readable(span))
        return f"{trace_id(plan.uid):032x}"

    async def aclose(self) -> None:
        """Send what is queued. A collector that is away delays the end of the daemon by ``LONGEST_CLOSE`` at most."""
        closing = Thread(target=self._processor.shutdown, name="traces closing", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, LONGEST_CLOSE)
        if closing.is_alive():
            log.warning("the last spans were not sent: the collector does not answer")

    def _readable(self, span: Span) -> ReadableSpan:
        parent = None if span.parent_id is None else _context(span.trace_id, span.parent_id)
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace_id, span.span_id),
            parent=parent,
            resource=self._resource,
            attributes=span.attributes,
            events=[SdkEvent(each.name, each.attributes, timestamp=_wire_time(each.at)) for each in span.events],
            kind=SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
            start_time=_wire_time(span.start),
            end_time=_wire_time(span.end),
            instrumentation_scope=self._scope,
        )


def otlp(endpoint: str, *, version: str, instance: str) -> TraceExport:
    """Export to the collector at ``endpoint``, such as ``http://collector:4318``."""
    base = endpoint.rstrip("/").removesuffix(PATH)
    return TraceExport(OTLPSpanExporter(endpoint=f"{base}{PATH}"), version=version, instance=instance)


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _wire_time(seconds: float) -> int:
    return round(seconds * _NANOSECONDS)
