"""What a new leader forgets and reads again before its first step.

A standby's caches are warm but may lag, and a daemon that leads again remembers what it knew before another led. A step
that writes the status would fail on a stale record, but a step that has nothing to write goes on to its actions at
once. So, before the first step:

``entry.record``
    One consistent LIST of Experiments brings the latest record of each, above all those the previous leader wrote.
    On an older one a step could take the pods of the newest epoch for leftovers and delete them. Where the watch is
    ahead of the list already, or the record is that of our own last write, nothing changes. This is read-your-own-
    writes with "own" meaning: of every earlier leader.
``view.engine``
    ``EngineFacts.reset`` forgets what the live API said to an earlier leadership. The epoch may have been launched,
    lost members or been swept since, and a quota may have been raised: the API is asked again (two requests for an
    experiment that still has something to launch).
``view.probe``
    The last answer may be hours old, and the coordinator's silence would be counted from then. The next probe comes
    within a second.
queue
    Its back-offs, timers and waiting times belong to the earlier leadership. Every experiment is requeued.

Pods are not listed again. A cache that lacks the newest pods can only ask for a launch or a loss to be confirmed,
which reads them live and lets the next step wait until the cache has come that far; a pod it still holds is deleted by
uid; and where it is older than the record that the other leader wrote, the step reads the live API first.
``freshness.pods_due`` and ``engine.service`` stay: the first is about the cache, the second is kept by a watch.
"""

from muster.daemon.experiments.error_border import ErrorBorder
from muster.daemon.experiments.index import ExperimentIndex
from muster.kube.listwatch.listing import ObjectList
from muster.kube.workqueue import WorkQueue
from muster.watchers.experiments import ExperimentRecord


def take_over(
    index: ExperimentIndex, border: ErrorBorder, queue: WorkQueue, latest: ObjectList[ExperimentRecord]
) -> None:
    """Reset what an earlier leadership learned, take in the ``latest`` records, and requeue every experiment."""
    for entry in list(index):
        view, seen = entry.view, entry.seen
        view.engine.reset()
        view.probe = None
        entry.step = 0.0  # the record is of another leader's clock
        now = latest.objects.get(seen.uid)
        if now is not None and now.resource_version > seen.resource_version:
            border.experiment_changed(seen, now)
        queue.forget(seen.uid)
        queue.add(seen.uid)
    for uid in border.damaged:
        queue.add(uid)


def stand_by(index: ExperimentIndex, queue: WorkQueue) -> None:
    """Remove every experiment and its timers from the queue."""
    for entry in index:
        queue.forget(entry.seen.uid)
