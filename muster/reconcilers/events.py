"""Emits one Event per line of the story, after the status that holds the line is written.

Events inform readers of ``kubectl describe``; the truth is in the status. A failure here therefore fails no step, and
the remaining lines are not sent to an API server that is busy or unreachable.
"""

from collections.abc import Callable, Sequence

from muster.api.errors import AlreadyExists, MusterError, Throttled, Unreachable
from muster.kube.resources import core
from muster.kube.transport import Transport
from muster.reconcilers.render.objects import render_event, to_json
from muster.reconcilers.result import ExperimentRef
from muster.state.vocabulary.record import StoryLine

Report = Callable[[StoryLine, Exception], None]
"""A callback for every line that did not become an Event, with the error."""


async def emit_events(
    transport: Transport, ref: ExperimentRef, lines: Sequence[StoryLine], *, instance: str, report: Report
) -> None:
    """Create an Event for each line, in order. ``instance`` is the name of the daemon's pod.

    A repeated line makes no second Event. Raises nothing but cancellation; failures go to ``report``.
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
            for unsent in lines[number:]:
                report(unsent, error)
            return
        except (MusterError, ValueError, OverflowError, OSError) as error:
            # The last three: a time outside the calendar.
            report(line, error)
