"""The status write, which persists a decision before any of its actions is carried out.

EndRun: suspends or deletes the object of a watched run, exactly the one of the decision.

The request has uid and resourceVersion, so that an object that has changed meanwhile, above all one that has ended, is
left alone and decided again. Labelled pods have no object: each is deleted, under its uid.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from muster.api.errors import ApiError, Conflict, NotFound
from muster.kube.resources import MERGE_PATCH, Object, core, read
from muster.kube.transport import Transport
from muster.reconcilers.render.objects import to_json
from muster.reconcilers.requests.batch import delete_options
from muster.reconcilers.requests.refusals import refusal_of
from muster.reconcilers.result import ExperimentRef, ref_of
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.actions import EndRun
from muster.state.vocabulary.plan import Plan


async def write_status(transport: Transport, ref: ExperimentRef, status: Mapping[str, object], version: int) -> int:
    """Replace the status if the object is still at resourceVersion ``version``; return the new resourceVersion.

    Raises ``Conflict`` when the object has changed since (or is another one of that name), ``NotFound`` when it is
    gone, and every other ``ApiError``. After ``Unreachable`` the write may have been applied; a second write then gets
    ``Conflict``, and the watch delivers what was persisted. Raises ``Unrenderable`` for text that JSON cannot hold.
    """
    path = f"{ref.path}/status"
    metadata = {"name": ref.name, "namespace": ref.namespace, "uid": ref.uid, "resourceVersion": str(version)}
    subject = ref.subject
    body = {"apiVersion": subject.api_version, "kind": subject.kind, "metadata": metadata, "status": status}
    answer = await transport.request(
        "PUT", path, body=to_json(body, f"the status of {subject.kind} {ref.namespace}/{ref.name}")
    )
    return read(answer, Object, f"PUT {path}").metadata.version


async def read_version(transport: Transport, ref: ExperimentRef) -> int:
    """Return the present resourceVersion of the object. Raises ``ApiError``."""
    return read(await transport.request("GET", ref.path), Object, f"GET {ref.path}").metadata.version


async def end_run(
    transport: Transport, action: EndRun, plan: Plan, version: int, suspend: Mapping[str, Any] | None
) -> Refusal | None:
    """End the run. ``suspend`` is the merge patch of its kind. Raises ``ApiError`` if a retry may help."""
    try:
        if not plan.subject.plural:
            for pod in action.pods:
                await _delete(transport, f"{core(plan.namespace, 'pods')}/{pod.name}", pod.uid, "")
        elif action.how == "suspend" and suspend is not None:
            known = {"uid": plan.uid, "resourceVersion": str(version)}
            body = msgspec.json.encode({**suspend, "metadata": known})
            await transport.request("PATCH", ref_of(plan).path, body=body, content_type=MERGE_PATCH)
        else:
            await _delete(transport, ref_of(plan).path, plan.uid, str(version))
    except (NotFound, Conflict):
        return None  # it has changed, and the watch delivers it
    except ApiError as error:
        kind = plan.subject.kind if plan.subject.plural else "Pod"
        if refusal := refusal_of(error, action.how, kind, plan.name, plan):
            return refusal
        raise
    return None


async def _delete(transport: Transport, path: str, uid: str, version: str) -> None:
    await transport.request("DELETE", path, body=delete_options(uid, None, version))
