"""Writes about the object of a plan: its status, its Events, and the end of a watched run.

The status persists a decision before any of its actions is carried out.

An Event repeats a line of the story, after the status that holds the line is written. It informs readers of ``kubectl
describe``; the truth is in the status. So a failure fails no step, and the remaining lines are not sent to an API
server that is busy or unreachable.

A watched run is ended by a request with uid and resourceVersion, so that an object that has changed meanwhile, above
all one that has ended, is left alone and decided again. Labelled pods have no object: each is deleted, under its uid.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from muster.api.errors import AlreadyExists, ApiError, Conflict, MusterError, NotFound, Throttled, Unreachable
from muster.kube.resources import MERGE_PATCH, Object, ask, core
from muster.kube.transport import Transport
from muster.reconcilers.refs import ExperimentRef, path_of
from muster.reconcilers.render.objects import render_event, to_json
from muster.reconcilers.requests.batch import delete_options
from muster.reconcilers.requests.refusals import refusal_of
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.actions import EndRun
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import StoryLine


async def write_status(transport: Transport, ref: ExperimentRef, status: Mapping[str, object], version: int) -> int:
    """Replace the status if the object is still at resourceVersion ``version``; return the new resourceVersion.

    Raises ``Conflict`` when the object has changed since (or is another one of that name), ``NotFound`` when it is
    gone, and every other ``ApiError``. After ``Unreachable`` the write may have been applied; a second write then gets
    ``Conflict``, and the watch delivers what was persisted. Raises ``Unrenderable`` for text that JSON cannot hold.
    """
    metadata = {"name": ref.name, "namespace": ref.namespace, "uid": ref.uid, "resourceVersion": str(version)}
    subject = ref.subject
    body = {"apiVersion": subject.api_version, "kind": subject.kind, "metadata": metadata, "status": status}
    data = to_json(body, f"the status of {subject.kind} {ref.namespace}/{ref.name}")
    return (await ask(transport.request, "PUT", f"{ref.path}/status", Object, body=data)).metadata.version


async def read_version(transport: Transport, ref: ExperimentRef) -> int:
    """Return the present resourceVersion of the object. Raises ``ApiError``."""
    return (await ask(transport.request, "GET", ref.path, Object)).metadata.version


async def end_run(
    transport: Transport, action: EndRun, plan: Plan, version: int, suspend: Mapping[str, Any] | None
) -> Refusal | None:
    """End the run. ``suspend`` is the merge patch of its kind. Raises ``ApiError`` if a retry may help."""
    kind, name = plan.subject.kind, plan.name
    try:
        if not plan.subject.plural:
            for pod in action.pods:
                kind, name = "Pod", pod.name
                with suppress(NotFound, Conflict):  # it has ended, or another one has its name
                    await _delete(transport, f"{core(plan.namespace, 'pods')}/{pod.name}", pod.uid, "")
        elif action.how == "suspend" and suspend is not None:
            known = {"uid": plan.uid, "resourceVersion": str(version)}
            body = msgspec.json.encode({**suspend, "metadata": known})
            await transport.request("PATCH", path_of(plan), body=body, content_type=MERGE_PATCH)
        else:
            await _delete(transport, path_of(plan), plan.uid, str(version))
    except (NotFound, Conflict):
        return None  # it has changed, and the watch delivers it
    except ApiError as error:
        if refusal := refusal_of(error, plan, action.how, kind, name):
            return refusal
        raise
    return None


async def _delete(transport: Transport, path: str, uid: str, version: str) -> None:
    await transport.request("DELETE", path, body=delete_options(uid, None, version))


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
