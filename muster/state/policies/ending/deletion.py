"""Deletion: the pods of an Experiment that is being deleted are deleted at once.

The gang ends also if a finalizer of others holds the object: nothing would restart it, and no clock runs. The garbage
collector deletes the same pods, but a default one needs 50 s for 1,000 of them.

Ended pods stay while the object does, for their logs. If the object waits for its pods to go (foreground deletion) they
are deleted too. If its pods are to stay (orphan), none is deleted.
"""

from muster.state.facts.context import Context
from muster.state.vocabulary.actions import DeletePods


def clear_away(context: Context) -> tuple[DeletePods, ...]:
    """Delete the pods of an Experiment that is being deleted, with their own grace."""
    plan, engine = context.plan, context.view.engine
    if plan.lifecycle.orphans:
        return ()
    wanted = [pod for pod in context.view.pods() if pod.live or plan.lifecycle.foreground]
    wanted += engine.vanished.values()
    pods = tuple(pod for pod in wanted if not pod.terminating and not engine.delete_accepted(pod, None))
    return (DeletePods(pods, None, "the Experiment is being deleted"),) if pods else ()
