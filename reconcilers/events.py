"""Story lines as Kubernetes Events: one per line, after the record that holds the line is persisted.

Events are for people with ``kubectl describe``; the record is the truth. So no failure here fails a step, and an API
server that is busy or away is not asked for the remaining lines.
"""

from collections.abc import Callable, Sequence

from muster.api.errors import AlreadyExists, MusterError, Throttled, Unreachable
from muster.kube.paths import core
from muster.kube.transport import Transport
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.render.encode import to_json
from muster.reconcilers.render.event import render_event
from muster.state.record import StoryLine

Report = Callable[[StoryLine, Exception], None]
"""Called with every line that did not become an Event, and with the error."""


async def announce(
    transport: Transport, ref: ExperimentRef, lines: Sequence[StoryLine], *, instance: str, report: Report
) -> None:
    """Make each line an Event of the Experiment, in order. ``instance`` says which daemon speaks (its pod's name).

    A line that is written twice makes one Event. Raises nothing but cancellation; failures go to ``report``.
    """
    path = core(ref.namespace, "events")
    for number, line in enumerate(lines):
        try:
            body = to_json(
                render_event(ref, line, instance), f"the Event {line.reason!r} of {ref.namespace}/{ref.name}"
            )
            await transport.request("POST", path, body=body)
        except AlreadyExists:
            continue
        except (Throttled, Unreachable) as error:
            for untold in lines[number:]:
                report(untold, error)
            return
        except (MusterError, ValueError, OverflowError, OSError) as error:  # the last three: a time beyond the calendar
            report(line, error)
