"""Where the spans of transitions go: to a collector, or nowhere."""

from typing import Protocol

from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record


class Traces(Protocol):
    """Takes in transitions."""

    def transition(self, plan: Plan, old: Record | None, new: Record) -> str | None:
        """A record was persisted in the place of ``old``. Never blocks. The id of its trace; None: it has none."""
        ...

    async def aclose(self) -> None:
        """Send what is left, for a few seconds at most."""
        ...


class NoTraces:
    """Makes no spans."""

    def transition(self, plan: Plan, old: Record | None, new: Record) -> None:
        """See ``Traces``."""

    async def aclose(self) -> None:
        """See ``Traces``."""


def traces_to(endpoint: str, *, version: str, instance: str) -> Traces:
    """Traces to the collector at ``endpoint``, such as ``http://collector:4318``; empty: to none.

    The SDK (extra ``tracing``) is imported only where it is used.
    """
    if not endpoint:
        return NoTraces()
    from muster.metrics.traces.export import otlp

    return otlp(endpoint, version=version, instance=instance)
