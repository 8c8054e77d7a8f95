"""The watches of watched runs: one for the objects of each served kind, and one of pods for each label.

A kind may be installed long after the daemon was started, and removed again: then its objects are forgotten.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import structlog

from muster.api.values.owners import OwnerLabels
from muster.daemon.informers import Informers, KindWatch
from muster.kinds.declaration import Made, PodSource, WatchedKind
from muster.kube.listwatch.store import Store
from muster.state.vocabulary.pod import Pod
from muster.tracking.watched_index import WatchedIndex
from muster.watchers import experiments
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.pods.decode import PATH
from muster.watchers.watched import object_decoder_of, pod_decoder_of

log = structlog.get_logger()


class WatchedWatches:
    """The owner of the reflectors and stores of watched runs."""

    def __init__(
        self,
        informers: Informers,
        index: WatchedIndex,
        kinds: Mapping[str, WatchedKind],
        *,
        advanced: Callable[[int], None],
        owners: OwnerLabels,
    ) -> None:
        """The open watches are kept with those of the ``informers``. ``advanced``: a cache has advanced."""
        self.index = index
        self._pods: dict[str, Store[Pod]] = {}
        self._kinds = kinds
        self.kinds: dict[str, KindWatch[WatchedKind | Made]] = {}
        """Watches of kinds by name, whether served or not."""
        self._objects: dict[str, Store[ExperimentRecord]] = {}
        sources = sources_of(kinds.values())
        for number, source in enumerate(sources):
            store = self._pods[source.name] = Store[Pod](index.pod_changed, advanced)
            followed = informers.reflector(
                PATH, {"labelSelector": source.label}, pod_decoder_of(source, sources[:number]), store
            )
            informers.reflectors[f"pods of {source.name}"] = followed
        made = {each.made.subject.words: each.made for each in kinds.values() if each.made is not None}
        own = {name: kind for name, kind in kinds.items() if not kind.virtual}
        for name, kind in (made | own).items():
            objects = self._objects[name] = Store[ExperimentRecord](
                partial(index.object_changed, name), advanced, experiments.stripped
            )
            decoder = object_decoder_of(kind, owners)
            self.kinds[name] = informers.kind_watch(kind, decoder, objects, f"watched {name}", forgets=True)

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
        watch = self.kinds.get(name)
        return watch is not None and watch.reflector.failing is not None


def sources_of(kinds: Iterable[WatchedKind]) -> list[PodSource]:
    """Return the watches of pods that these kinds need, each once, in the order of the kinds."""
    return list({source.name: source for kind in kinds for source in kind.pods}.values())


def report(message: str, **fields: Any) -> None:
    """Log what a watched object causes; an exception is an error."""
    (log.error if "exc_info" in fields else log.warning)(message, **fields)
