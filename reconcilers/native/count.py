"""CountPods: how many pods are there, and how far must the cache have come to show them?

Where the cache has come as far as the newest pod, and holds as many, it shows what is there: a change that it lacks
would be newer, and a deletion that it lacks would leave it with more.
"""

from reconcilers.native.calls import Calls
from reconcilers.native.roster import pages
from reconcilers.outcome import Outcome
from state.plan import Plan
from state.view import Count


async def count_pods(calls: Calls, plan: Plan) -> Outcome:
    """Ask the live API for the experiment's pods of all epochs, as far as the cache is meant to hold them."""
    at, version, pods = calls.now(), 0, 0
    async for page in pages(calls, plan):
        watched = [pod.metadata.version for pod in page if pod.watched]
        version = max((version, *watched))
        pods += len(watched)
    return Outcome(version=version, counted=Count(pods, at))
