"""What a new leader believes: only what it has read.

A standby's caches are warm but may lag, and a daemon that leads again remembers what it knew before another led. Both
would be harmless if every step wrote the status (that write fails when the record is not the latest), but a step that
finds the record as it should be goes on to its actions at once. So, before the first step:

``entry.record``
    One consistent LIST of Experiments brings the latest record of each, above all those the previous leader wrote.
    On an older one a step could take the pods of the newest epoch for leftovers and delete them. Where the watch is
    ahead of the list already, or the record is that of our own last write, nothing changes. This is read-your-own-
    writes with "own" meaning: of whoever led before.
``view.confirmed``, ``view.lost``, ``view.look``
    The live API's word to an earlier leadership. The epoch may have been launched, lost members or been swept since;
    it is asked again (two requests per experiment that still has something to launch).
``view.refusal``
    A quota may have been raised since; a refusal that still holds comes back with the next try.
``view.probe``
    What the coordinator said when we last asked, maybe hours ago: its silence would be counted from then. The next
    probe is a second away.
queue
    Its back-offs, wishes for later and waiting times belong to the earlier leadership. Every experiment gets a turn.

Pods are not listed again. A cache that lacks the newest pods can only ask for a launch or a loss to be confirmed,
which reads them live and lets the next step wait until the cache has come that far; a pod it still holds is deleted by
uid; and where it is older than the record that the other leader wrote, the step looks past it first. ``entry.pods_due``
and ``view.service`` stay: the first is about the cache and the second is kept by a watch, whoever leads.
"""

from muster.daemon.experiments import ExperimentIndex
from muster.kube.listwatch.listing import Snapshot
from muster.kube.workqueue import WorkQueue
from muster.watchers.experiments import ExperimentRecord


def take_over(roster: ExperimentIndex, queue: WorkQueue, latest: Snapshot[ExperimentRecord]) -> None:
    """Forget what an earlier leadership made us believe, take in what is ``latest``, and give everybody a turn."""
    for entry in list(roster):
        view, seen = entry.view, entry.seen
        view.engine.reset()
        view.probe = None
        now = latest.objects.get(seen.uid)
        if now is not None and now.resource_version > seen.resource_version:
            roster.experiment_changed(seen, now)
        queue.forget(seen.uid)
        queue.add(seen.uid)


def stand_by(roster: ExperimentIndex, queue: WorkQueue) -> None:
    """Take everybody's turn and every wish for a later one out of the queue."""
    for entry in roster:
        queue.forget(entry.seen.uid)
