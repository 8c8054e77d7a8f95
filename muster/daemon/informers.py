"""The informers: a reflector and a store for each watched kind, and the resourceVersions that the stores have reached.

``Informers`` has those of what Muster runs, ``WatchedWatches`` those of watched runs.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Generic, TypeVar

import structlog

from muster.api.errors import ApiError, Forbidden, NotFound
from muster.api.names import KIND, QUEUE_LABEL, SELECTOR, selector_of
from muster.api.values.owners import NONE, OwnerLabels
from muster.daemon.experiments.error_boundary import ErrorBoundary
from muster.daemon.experiments.index import Cached, ExperimentIndex
from muster.kinds.declaration import Made, PodSource, RunKind, WatchedKind
from muster.kube.listwatch.reflector import Reflector, ReflectorSettings
from muster.kube.listwatch.sink_feed import list_all
from muster.kube.listwatch.store import Store
from muster.kube.transport import Transport
from muster.kube.unstructured import items, mapping
from muster.kube.workqueue import Backoff
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.workload import Workload
from muster.tracking.watched_index import WatchedIndex
from muster.watchers import experiments, metadata, workloads
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.metadata import ServiceRecord
from muster.watchers.pods import decode as pods
from muster.watchers.run_kinds import decoder_of
from muster.watchers.watched import object_decoder_of, pod_decoder_of

log = structlog.get_logger()

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
"""Seconds between two looks at discovery: a new CRD is found within a minute."""


class NotServed(Exception):
    """The API server does not serve the kind."""


def ends_with_its_kind(error: ApiError, _wait: float) -> None:
    """End a reflector's run if its kind is not served (a ``failed`` callback)."""
    if isinstance(error, NotFound):
        raise NotServed


K = TypeVar("K", bound=RunKind | WatchedKind | Made)


@dataclass(eq=False)
class KindWatch(Generic[K]):
    """The watch of one kind that may not be installed, which runs forever.

    A CRD may be installed long after the daemon was started. Until its kind is served, discovery is asked again with a
    growing delay. When it is no longer served, the watch ends and the daemon waits again.
    """

    informers: "Informers"
    kind: K
    reflector: Reflector[Any]
    name: str
    """The name of the reflector among those of the ``informers`` while the kind is served."""
    forgets: bool
    """True if its objects are forgotten when it is served no longer: those of a watched run."""
    served: bool = False

    async def run(self) -> None:
        """Wait for the kind, watch it, and wait again when it is gone."""
        while True:
            await self._until_served()
            log.info("kind is served, watching it", kind=self.kind.subject.kind)
            self.served = True
            self.informers.reflectors[self.name] = self.reflector
            try:
                await self.reflector.run()
            except NotServed:
                log.warning("kind is not served any more", kind=self.kind.subject.kind)
            finally:
                self.served = False
                del self.informers.reflectors[self.name]
                if self.forgets:
                    self.reflector.feed.replace({}, self.reflector.feed.version)

    async def _until_served(self) -> None:
        backoff, before = Backoff(FIRST_WAIT, LONGEST_WAIT, self.informers.random), ""
        while problem := await self._problem():
            if problem != before:
                log.info("kind is not watched yet", kind=self.kind.subject.kind, problem=problem)
            before = problem
            await self.informers.sleep(backoff.delay())

    async def _problem(self) -> str:
        """Return why the kind cannot be watched; empty if discovery lists it."""
        subject = self.kind.subject
        missing = f"the API server serves no {subject.plural} of {subject.api_version}"
        try:
            answer = await self.informers.transport.request("GET", f"/apis/{subject.api_version}")
            document = json.loads(answer.body)
        except NotFound:
            return missing
        except (ApiError, ValueError, RecursionError) as error:
            return str(error)
        resources = items(mapping(document).get("resources"))
        return "" if any(each.get("name") == subject.plural for each in resources) else missing


Failed = Callable[[ApiError, float], None]
"""A callback for a failure of a watch and the seconds until it is opened again."""

NOT_SERVED = (
    f"the API server has no Workloads ({workloads.API_VERSION}): install Kueue 0.15 or later, or remove the label "
    f"{QUEUE_LABEL} from the experiment"
)
DISABLED = (
    f"musterd runs without --kueue, and the experiment has the label {QUEUE_LABEL}: set kueue.enabled in the chart, or "
    "remove the label"
)

OURS = {"labelSelector": SELECTOR}


@dataclass(eq=False)
class Informers:
    """The owner of reflectors and stores; the daemon starts ``run`` of each reflector."""

    transport: Transport
    index: ExperimentIndex
    boundary: ErrorBoundary
    """Changes go to the index through it."""
    namespace: str
    """An empty one means every namespace."""
    monotonic: Callable[[], float]
    random: Random
    sleep: Callable[[float], Awaitable[object]]
    advanced: Callable[[int], None]
    """Called with the version that a cache has reached."""
    settings: ReflectorSettings = field(default_factory=ReflectorSettings)
    kinds: Iterable[RunKind] = ()
    """Those to watch as soon as the API server serves them."""
    kueue: bool = False
    """True to watch Workloads, too."""
    owners: OwnerLabels = NONE
    queue_turned: Callable[[], None] = lambda: None
    """Called when Workloads become readable or unreadable."""

    def __post_init__(self) -> None:
        index, around = self.index, self.boundary.around
        self._experiments = self._records("experiments", KIND)
        self._pods = Store[Pod](
            around(index.pod_changed), self.advanced, on_back=self._back("pods", index.pods_went_back)
        )
        self._services = Store[ServiceRecord](around(index.service_changed), self.advanced)
        self._workloads = Store[Workload](around(index.workload_changed), self._workloads_reached)
        self.queue_problem: str = "" if self.kueue else DISABLED
        """The reason why no Workload can be read or made; empty while they can, or while that is not known."""

        self.reflectors: dict[str, Reflector[Any]] = {
            "experiments": self.reflector(experiments.PATH, {}, experiments.decoder_of(self.owners), self._experiments),
            "pods": self.reflector(pods.PATH, OURS, pods.DECODER, self._pods),
            "services": self.reflector(metadata.PATH, OURS, metadata.DECODER, self._services),
        }
        """Reflectors by resource; those of other kinds only while their kind is served."""
        self._run_kinds: dict[str, Store[ExperimentRecord]] = {}
        """Stores by resource."""
        self.run_kinds: dict[str, KindWatch[RunKind]] = {}
        """Watches of kinds by resource, whether served or not."""
        for kind in self.kinds:
            subject = kind.subject
            store = self._run_kinds[subject.plural] = self._records(subject.plural, subject.kind)
            self.run_kinds[subject.plural] = self.kind_watch(kind, decoder_of(kind, self.owners), store, subject.plural)
        if self.kueue:
            self.reflectors["workloads"] = self.reflector(
                workloads.PATH, {}, workloads.DECODER, self._workloads, self._workloads_failed
            )

    def _records(self, plural: str, kind: str) -> Store[ExperimentRecord]:
        """Return the store of a kind that Muster runs."""
        return Store[ExperimentRecord](
            self.boundary.around(self.index.experiment_changed),
            self.advanced,
            experiments.stripped,
            self._back(plural, partial(self.index.experiments_went_back, kind=kind)),
            self.index.undone,
        )

    def reflector(
        self, path: str, params: dict[str, str], decoder: Any, store: Any, failed: Failed = lambda _error, _wait: None
    ) -> Reflector[Any]:
        """Return the reflector of a watch."""
        return Reflector(
            self.transport,
            in_namespace(self.namespace, path),
            params,
            decoder,
            store,
            clock=self.monotonic,
            random=self.random,
            sleep=self.sleep,
            report=_report,
            failed=failed,
            settings=self.settings,
        )

    def kind_watch(self, kind: K, decoder: Any, store: Any, name: str, *, forgets: bool = False) -> KindWatch[K]:
        """Return the watch of a kind that may not be installed. It has that name among ``reflectors``."""
        reflector = self.reflector(kind.subject.path, {}, decoder, store, ends_with_its_kind)
        return KindWatch(self, kind, reflector, name, forgets)

    @property
    def synced(self) -> bool:
        """True once the first full list of every kind has arrived. The daemon decides nothing before that."""
        return self._experiments.synced and self._pods.synced and self._services.synced

    @property
    def workloads_known(self) -> bool:
        """True once the first full list of Workloads has arrived, or if none is to come (see ``queue_problem``)."""
        return self._workloads.synced or bool(self.queue_problem)

    @property
    def workloads_version(self) -> int:
        """The resourceVersion that the cache of Workloads has reached."""
        return self._workloads.version

    def watched(self) -> Iterator[tuple[str, Reflector[Any]]]:
        """Yield each watch that is to be open, with the plural of its kind.

        That is not the one of Workloads while they cannot be read: only some experiments need them.
        """
        for name, each in self.reflectors.items():
            if name != "workloads" or not self.queue_problem:
                yield name, each

    @property
    def pods_version(self) -> int:
        """The resourceVersion that the pod cache has reached."""
        return self._pods.version

    async def read_live(self, plan: Plan, view: View) -> int | None:
        """List the plan's pods from the live API and put them into the cache. Returns the resourceVersion of the list.

        ``view`` holds the cached pods. None means that the list lacks a pod whose last state the watch has yet to
        deliver: read again after that. Raises ``ApiError``.
        """
        seen = await list_all(
            self.transport,
            in_namespace(plan.namespace, pods.PATH),
            {"labelSelector": selector_of(plan.uid)},
            pods.DECODER,
            page_size=self.settings.page_size,
        )
        now, feed = self.monotonic(), self.reflectors["pods"].feed
        complete = feed.learn(seen, list(view.pods()), lambda pod: view.mark_not_found(pod, now))
        return seen.version if complete else None

    def list_again(self, plural: str) -> None:
        """List that kind again, because its cache is newer than the API server. A kind without a watch is skipped."""
        if (reflector := self.reflectors.get(plural)) is not None:
            log.warning("an object is older than it is known, as after the restoration of a backup", resource=plural)
            reflector.list_again()

    def cached(self, uid: str) -> Cached:
        """Return what the caches have of that experiment. Walks over all pods: 10 ms for 100,000."""
        return Cached(
            any(store.get(uid) is not None for store in (self._experiments, *self._run_kinds.values())),
            [pod for pod in self._pods if pod.owner == uid],
            [service for service in self._services if service.owner == uid],
            [workload for workload in self._workloads if workload.ours and workload.owner == uid],
        )

    def _back(self, name: str, then: Callable[[int], None]) -> Callable[[int], None]:
        """Return the callback for a list that is older than its cache: the other kinds are listed again, too.

        Their watches would not show the undone changes if the old versions come again before a long silence.
        """

        def went_back(version: int) -> None:
            then(version)
            for other, each in self.reflectors.items():
                if other != name:
                    each.list_again()

        return went_back

    def _workloads_reached(self, version: int) -> None:
        if self.queue_problem:
            self.queue_problem = ""
            self.queue_turned()
        self.advanced(version)

    def _workloads_failed(self, error: ApiError, _wait: float) -> None:
        """Keep why Workloads cannot be read, and requeue the experiments that have a queue to report it."""
        before = self.queue_problem
        if isinstance(error, NotFound):
            self.queue_problem = NOT_SERVED
        elif isinstance(error, Forbidden):
            self.queue_problem = f"musterd may not read the Workloads of Kueue: {error.message}"
        if self.queue_problem != before:
            self.queue_turned()
            self.advanced(self.workloads_version)


class WatchedWatches:
    """The owner of the reflectors and stores of watched runs: of objects by kind, and of pods by label."""

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
                pods.PATH, {"labelSelector": source.label}, pod_decoder_of(source, sources[:number]), store
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


def _report(message: str, **fields: Any) -> None:
    """Log a reflector's message: a problem is a warning, with the next step if the CRD of Experiment is missing."""
    if fields.get("kind") == KIND and fields.get("reason") == NotFound.__name__.lower():
        fields["hint"] = "the CRD is not installed: kubectl apply -f deploy/crds/experiments.muster.dev.yaml"
    (log.warning if "problem" in fields else log.info)(message, **fields)


def in_namespace(namespace: str, path: str) -> str:
    """Return the path of the objects of one namespace; of all namespaces if ``namespace`` is empty."""
    if not namespace:
        return path
    head, _, plural = path.rpartition("/")
    return f"{head}/namespaces/{namespace}/{plural}"
