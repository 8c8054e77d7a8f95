"""Sets of labelled pods, as the objects that they do not have.

The object of a set is made of its pods. It is there from the first to the last of them. Its annotations are those of
its pods, of the first one that states each; its size never shrinks while it exists.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import NAMESPACE_OID, uuid5

from muster.api.values.timestamps import whole_time
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.subject import PODS
from muster.watchers.experiments import ExperimentRecord

Key = tuple[str, str]
"""Namespace and owner key."""


@dataclass(slots=True)
class _Set:
    """``size``: one more than the highest index seen, or as many pods as were there at a time."""

    created: float
    size: int = 0
    here: int = 0
    """Pods that are not terminating."""
    asks: dict[str, str] = field(default_factory=dict)
    version: int = 0
    record: ExperimentRecord | None = None


class LabelledSets:
    """Follows all sets; each change of a pod gives the change of its set's object."""

    def __init__(self) -> None:
        self._sets: dict[Key, _Set] = {}

    def change(
        self, key: Key, old: Pod | None, new: Pod | None, pods: Mapping[str, Pod]
    ) -> tuple[ExperimentRecord | None, ExperimentRecord | None] | None:
        """Take in the change of a pod of that set; ``pods`` are all of it now. None where the object is the same."""
        known = self._sets.get(key)
        if not pods:
            if known is None:
                return None
            del self._sets[key]
            return known.record, None
        if known is None:
            assert new is not None
            known = self._sets[key] = _Set(new.created)
        known.here += (new is not None and not new.terminating) - (old is not None and not old.terminating)
        size = max(known.size, known.here, new.index + 1 if new is not None else 0)
        asks = known.asks
        if new is not None and new.asks and (old is None or old.asks != new.asks):
            asks = {**json.loads(new.asks), **asks}
        if known.record is not None and (size, asks) == (known.size, known.asks):
            return None
        known.size, known.asks = size, asks
        known.version += 1
        before, known.record = known.record, _object(key, known)
        return before, known.record


def _object(key: Key, known: _Set) -> ExperimentRecord:
    namespace, owner = key
    name = owner.partition("/")[2]
    uid = str(uuid5(NAMESPACE_OID, f"{namespace}/{owner}"))
    metadata = {
        "uid": uid,
        "name": name,
        "namespace": namespace,
        "generation": known.version,
        "creationTimestamp": whole_time(known.created),
        "annotations": known.asks,
    }
    return ExperimentRecord(
        uid=uid,
        namespace=namespace,
        name=name,
        resource_version=known.version,
        generation=known.version,
        deleting=False,
        spec=json.dumps({"size": known.size}).encode(),
        status=b"null",
        kind=PODS.kind,
        watched=True,
        metadata=json.dumps(metadata).encode(),
    )
