"""Sets of labelled pods, each with an object made up for the one that it lacks.

The object of a set is made of its pods. It exists from the first to the last of them. Its annotations are those of its
pods, of the first one that states each; its size never shrinks while it exists.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import NAMESPACE_OID, uuid5

from muster.api.values.timestamps import whole_time
from muster.kinds.pods import counts
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.subject import PODS
from muster.watchers.experiments import ExperimentRecord

Key = tuple[str, str]
"""Namespace and owner key."""


@dataclass(slots=True)
class _Set:
    """One set. ``sizes``: by group, the highest index plus one, or the most pods at a time."""

    created: float
    sizes: dict[str, int] = field(default_factory=dict)
    here: Counter[str] = field(default_factory=Counter)
    """Pods that count as one each, by group."""
    indices: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Pods at work, by group and index."""
    shared: int = 0
    """Number of indices that several pods at work have."""
    asks: dict[str, str] = field(default_factory=dict)
    version: int = 0
    record: ExperimentRecord | None = None

    def count(self, pod: Pod | None, step: int) -> None:
        """Count a pod in (1) or out (-1)."""
        if pod is None or not counts(pod):
            return
        self.here[pod.group] += step
        if pod.index < 0 or not pod.live:
            return
        index = pod.group, pod.index
        before = self.indices[index]
        self.indices[index] = before + step
        self.shared += (before + step > 1) - (before > 1)
        if not self.indices[index]:
            del self.indices[index]


class LabelledSets:
    """The sets; each change of a pod gives the change of its set's object."""

    def __init__(self) -> None:
        self._sets: dict[Key, _Set] = {}

    def change(
        self, key: Key, old: Pod | None, new: Pod | None, pods: Mapping[str, Pod]
    ) -> tuple[ExperimentRecord | None, ExperimentRecord | None] | None:
        """Take in the change of a pod of that set, which now has ``pods``. Return None if its object is unchanged."""
        known = self._sets.get(key)
        if not pods:
            if known is None:
                return None
            del self._sets[key]
            return known.record, None
        if known is None:
            assert new is not None
            known = self._sets[key] = _Set(new.created)
        shared = bool(known.shared)
        known.count(old, -1)
        known.count(new, 1)
        size, group = 0, ""
        if new is not None:
            group, size = new.group, max(known.sizes.get(new.group, 0), known.here[new.group], new.index + 1)
        asks = known.asks
        if new is not None and new.asks and (old is None or old.asks != new.asks):
            asks = {**json.loads(new.asks), **asks}
        same = size == known.sizes.get(group, 0) and shared == bool(known.shared)
        if known.record is not None and same and asks == known.asks:
            return None
        if group:
            known.sizes[group] = size
        known.asks = asks
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
        spec=json.dumps({"sizes": known.sizes, "shared": bool(known.shared)}).encode(),
        status=b"null",
        kind=PODS.kind,
        metadata=json.dumps(metadata).encode(),
    )
