"""ConfirmLoss: is a member's pod really gone?

A cache that is late lacks pods too, and a gang must not be restarted because a list was late. So the pods of the epoch
are counted where they are kept. Ended pods count as there: they ended, they were not lost.
"""

from reconcilers.native.calls import Calls
from reconcilers.native.roster import pages
from reconcilers.outcome import Outcome
from state.actions import ConfirmLoss
from state.plan import Plan


async def confirm_loss(calls: Calls, action: ConfirmLoss, plan: Plan) -> Outcome:
    """Ask the live API whether the epoch has fewer pods than the gang has members."""
    version = present = 0
    async for page in pages(calls, plan):
        version = max((version, *(pod.metadata.version for pod in page)))
        present += sum(pod.of(action.epoch) for pod in page)
    return Outcome(version=version, lost=present < plan.together)
