"""The status write, which persists a decision before any of its actions is carried out."""

from collections.abc import Mapping

from muster.kube.metadata import Object, read
from muster.kube.transport import Transport
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.render.encode import to_json


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
    """Return the resourceVersion that the object has now. Raises ``ApiError``."""
    return read(await transport.request("GET", ref.path), Object, f"GET {ref.path}").metadata.version
