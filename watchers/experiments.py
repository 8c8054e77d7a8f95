"""Experiments: their metadata, and the object as undecoded JSON.

Only the metadata is decoded here, because the API server guarantees its form. The spec may be wrong; ``muster.api``
parses it later, where an error can be reported on the experiment.
"""

import msgspec

from muster.api.names import API_VERSION, PLURAL
from muster.api.wire.kinds import MAX_COUNTER
from muster.kube.listwatch.decoder import Projection, version_of

PATH = f"/apis/{API_VERSION}/{PLURAL}"


class ExperimentRecord(msgspec.Struct, frozen=True, gc=False):
    """One Experiment; ``raw`` is the JSON of the whole object, status included."""

    uid: str
    namespace: str
    name: str
    resource_version: int
    generation: int
    deleting: bool
    """A deletionTimestamp is set."""
    raw: bytes


class _Metadata(msgspec.Struct, gc=False):
    uid: str
    name: str
    resourceVersion: str  # noqa: N815 - the wire's names
    namespace: str | None = None
    generation: int | None = None
    deletionTimestamp: str | None = None  # noqa: N815


class _Document(msgspec.Struct, gc=False):
    metadata: _Metadata


_DOCUMENT = msgspec.json.Decoder(_Document)


def flatten(raw: msgspec.Raw) -> ExperimentRecord:
    """The record of an Experiment. Raises ValueError if its metadata cannot be read."""
    metadata = _DOCUMENT.decode(raw).metadata
    if not metadata.uid or not metadata.name:
        raise ValueError("an Experiment without uid or name")
    return ExperimentRecord(
        uid=metadata.uid,
        namespace=metadata.namespace or "",
        name=metadata.name,
        resource_version=version_of(metadata.resourceVersion),
        generation=min(max(metadata.generation or 0, 0), MAX_COUNTER),
        deleting=metadata.deletionTimestamp is not None,
        raw=bytes(raw),
    )


DECODER: Projection[msgspec.Raw, ExperimentRecord] = Projection("Experiment", msgspec.Raw, flatten)
