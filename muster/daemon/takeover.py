"""The daemon's part in an election, and the facts that a new leader forgets and reads again before its first step.

A standby's caches are warm but may lag, and a daemon that leads again remembers what it knew before another led. A step
that writes the status would fail on a stale record, but a step that has nothing to write continues with its actions at
once. So, before the first step:

``entry.record``
    One consistent LIST of Experiments brings the latest record of each, above all those the previous leader wrote.
    On an older one a step could delete the pods of the newest epoch as leftovers. If the watch is ahead of the list
    already, or the record is that of our own last write, nothing changes. This is read-your-own-writes with "own"
    meaning: of every earlier leader.
``view.engine``
    ``EngineFacts.reset`` forgets the live API's answers to an earlier leadership. The epoch may have been launched,
    lost members or been swept since, and a quota may have been raised: the API is asked again (two requests for an
    experiment that still has something to launch).
``view.probe``
    The last answer may be hours old, and the coordinator's silence would be counted from then. The next probe comes
    within a second. Reports that programs sent went to the other leader meanwhile, so theirs are forgotten, too.
queue
    Its back-offs, timers and waiting times belong to the earlier leadership. Every experiment is requeued.

Pods are not listed again. A cache that lacks the newest pods can only ask for a launch or a loss to be confirmed, which
reads them live and lets the next step wait until the cache has come that far; a pod it still holds is deleted by uid;
and if it is older than the record that the other leader wrote, the step reads the live API first.
``freshness.pods_due`` and ``engine.service`` stay: the first is about the cache, the second is kept by a watch.
"""

from collections.abc import Awaitable, Callable, Iterable
from random import Random

import structlog

from muster.api.errors import ApiError, NotFound
from muster.daemon.experiments.error_boundary import ErrorBoundary
from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.informers import in_namespace
from muster.daemon.settings import Settings
from muster.kube.leaderelection.elector import Elector
from muster.kube.leaderelection.lease import Leases
from muster.kube.leaderelection.rules import Terms
from muster.kube.listwatch.events import Decoder
from muster.kube.listwatch.listing import ObjectList, list_all
from muster.kube.transport import Transport
from muster.kube.workqueue import WorkQueue
from muster.watchers import experiments
from muster.watchers.experiments import ExperimentRecord

log = structlog.get_logger()


Source = tuple[str, Decoder[ExperimentRecord]]
"""One kind's list: its path for all namespaces, and its decoder."""


async def list_latest(
    transport: Transport, sources: Iterable[Source], settings: Settings, sleep: Callable[[float], Awaitable[object]]
) -> ObjectList[ExperimentRecord]:
    """Return all objects of these kinds as the API server has them now. Retries until it answers.

    A kind that is no longer served has none.
    """
    found = ObjectList[ExperimentRecord]({}, 0, [])
    for everywhere, decoder in sources:
        path = in_namespace(settings.namespace, everywhere)
        while True:
            try:
                listed = await list_all(transport, path, {}, decoder, page_size=500, timeout=settings.renew_deadline)
            except ApiError as error:
                if isinstance(error, NotFound) and everywhere != experiments.PATH:
                    break
                log.warning("cannot be listed, retrying before the first decision", path=path, error=str(error))
                await sleep(settings.retry_period)
            else:
                found.objects.update(listed.objects)
                found.problems.extend(listed.problems)
                break
    return found


def take_over(
    index: ExperimentIndex, boundary: ErrorBoundary, queue: WorkQueue, latest: ObjectList[ExperimentRecord]
) -> None:
    """Reset what an earlier leadership learned, take in the ``latest`` records, and requeue every experiment."""
    changed = boundary.around(index.experiment_changed)
    for entry in list(index):
        view, seen = entry.view, entry.seen
        view.engine.reset()
        view.take_over()
        entry.step = 0.0  # the record is of another leader's clock
        now = latest.objects.get(seen.uid)
        if now is not None and now.resource_version > seen.resource_version:
            changed(seen, now)
        queue.forget(seen.uid)
        queue.add(seen.uid)
    for uid in index.orphaned():
        queue.add(uid)
    for uid in boundary.damaged:
        queue.add(uid)


def stand_by(index: ExperimentIndex, queue: WorkQueue) -> None:
    """Remove every experiment and its timers from the queue."""
    for entry in index:
        queue.forget(entry.seen.uid)


def elector_of(
    settings: Settings,
    transport: Transport,
    instance: str,
    *,
    clock: Callable[[], float],
    monotonic: Callable[[], float],
    random: Random,
) -> Elector | None:
    """Return the elector that the settings ask for, if any. Two lives of one ``instance`` are two candidates."""
    if not settings.leader_elect:
        return None
    host = f"[{settings.pod_address}]" if ":" in settings.pod_address else settings.pod_address
    ports = settings.http_port, settings.progress_port
    address = ",".join(f"{host}:{port}" if port else "" for port in ports) if host else ""
    return Elector(
        Leases(transport, settings.lease_namespace or "default", settings.lease_name, clock, address),
        f"{instance}_{random.getrandbits(64):016x}",
        Terms(settings.lease_duration, settings.renew_deadline, settings.retry_period),
        monotonic=monotonic,
        random=random,
    )
