"""The watches of watched runs: one for the objects of each served kind, and one of pods for each label.

A kind may be installed long after the daemon was started, and removed again: then its objects are forgotten.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol

import structlog

from muster.api.values.owners import OwnerLabels
from muster.daemon.kind_watch import KindWatch, ends_with_its_kind
from muster.kinds.declaration.watched_kind import Made, PodSource, WatchedKind
from muster.kube.listwatch.reflector import Reflector
from muster.kube.listwatch.store import Store
from muster.kube.transport import Transport
from muster.state.vocabulary.pod import Pod
from muster.tracking.watched_index import WatchedIndex
from muster.watchers import experiments
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.pods.decode import PATH
from muster.watchers.watched import object_decoder_of, pod_decoder_of

log = structlog.get_logger()


class MakeReflector(Protocol):
    """A function that makes the reflector of one watch."""

    def __call__(
        self, path: str, params: dict[str, str], decoder: Any, store: Any, failed: Any = ...
    ) -> Reflector[Any]:
        """Make the reflector. ``failed`` is called with each failure; it may raise to end the watch."""
        ...


class WatchedWatches:
    """The owner of the reflectors and stores of watched runs."""

    def __init__(
        self,
        transport: Transport,
        index: WatchedIndex,
        kinds: Mapping[str, WatchedKind],
        *,
        reflector: MakeReflector,
        reflectors: dict[str, Reflector[Any]],
        random: Any,
        sleep: Any,
        advanced: Callable[[int], None],
        owners: OwnerLabels,
    ) -> None:
        """The open watches are kept in ``reflectors``, by resource. ``advanced``: a cache has advanced."""
        self._pods: dict[str, Store[Pod]] = {}
        self._kinds = kinds
        self.kinds: dict[str, KindWatch[WatchedKind | Made]] = {}
        """Watches of kinds by name, whether served or not."""
        self._objects: dict[str, Store[ExperimentRecord]] = {}
        self._followed: dict[str, Reflector[Any]] = {}
        sources = sources_of(kinds.values())
        for number, source in enumerate(sources):
            store = self._pods[source.name] = Store[Pod](index.pod_changed, advanced)
            decoder = pod_decoder_of(source, sources[:number])
            reflectors[f"pods of {source.name}"] = reflector(PATH, {"labelSelector": source.label}, decoder, store)
        made = {each.made.subject.words: each.made for each in kinds.values() if each.made is not None}
        own = {name: kind for name, kind in kinds.items() if not kind.virtual}
        for name, kind in (made | own).items():
            objects = self._objects[name] = Store[ExperimentRecord](
                partial(index.object_changed, name), advanced, experiments.stripped
            )
            decoder_ = object_decoder_of(kind, owners)
            followed = reflector(kind.subject.path, {}, decoder_, objects, ends_with_its_kind)
            self._followed[name] = followed
            self.kinds[name] = KindWatch(
                transport,
                kind,
                followed,
                reflectors,
                f"watched {name}",
                ended=partial(_forget, followed),
                random=random,
                sleep=sleep,
            )

    def synced(self, name: str) -> bool:
        """Return True once the pods of that kind, and its objects, have had their first list."""
        kind = self._kinds[name]
        objects = self._objects.get(name)
        made = kind.made.subject.words if kind.made is not None else ""
        if made and self.kinds[made].served and not self._objects[made].synced:
            return False
        return all(self._pods[each.name].synced for each in kind.pods) and (objects is None or objects.synced)

    def failing(self, name: str) -> bool:
        """Return True if the watch of that kind's objects is broken, so that their present state is not known."""
        followed = self._followed.get(name)
        return followed is not None and followed.failing is not None


def _forget(followed: Reflector[Any]) -> None:
    followed.feed.replace({}, followed.version)


def sources_of(kinds: Iterable[WatchedKind]) -> list[PodSource]:
    """Return the watches of pods that these kinds need, each once, in the order of the kinds."""
    return list({source.name: source for kind in kinds for source in kind.pods}.values())


def report(message: str, **fields: Any) -> None:
    """Log what a watched object causes; an exception is an error."""
    (log.error if "exc_info" in fields else log.warning)(message, **fields)
