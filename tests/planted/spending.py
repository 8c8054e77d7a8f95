"""Bugs of shares, budgets and refusals: who takes how much, and what is never given back."""

from math import inf
from typing import Any

from muster.daemon.steps.outcomes import Outcomes
from muster.kube.fair_share import FairShare
from muster.state.view.engine_facts import EngineFacts
from muster.state.view.probe_result import ProbeResult
from muster.state.view.write_budget import WriteBudget
from muster.tracking.entry import Entry
from tests.planted.bug import Hunt, Swaps, bug, swap


@bug(Hunt("clean", "noisy-neighbours"), shown_by="moved by what happens in another namespace")
def slots_for_whoever_comes() -> Swaps:
    """Requests take slots in the order in which they come, whatever their namespace has taken already."""

    def free(self: FairShare, group: Any, flow: Any) -> bool:
        return self.busy < self.total

    return [swap(FairShare, "_may_take", free)]


@bug(Hunt("clean", "readiness-flaps", operator="xgboost"), shown_by="more than its budget")
def budget_ignored() -> Swaps:
    """Words are written whenever they have changed, however often that is."""
    return [swap(WriteBudget, "free_at", lambda self, now: now)]


@bug(Hunt("clean", "coordinator-comes-and-goes"), shown_by="within ten minutes")
def flaps_undamped() -> Swaps:
    """A coordinator that was lost again and again counts as back with its first answer."""
    return [swap(ProbeResult, "hold", property(lambda self: 0.0))]


@bug(Hunt("clean", "webhook-denies"), Hunt("clean", "quota-exceeded"), shown_by="it is called stuck")
def refusal_stands() -> Swaps:
    """A refusal stands although the request was accepted since."""

    def forgotten(self: Outcomes, entry: Entry) -> None:
        pass

    return [swap(EngineFacts, "accept", lambda self: None), swap(Outcomes, "accepted", forgotten)]


@bug(Hunt("clean", "webhook-denies"), Hunt("clean", "quota-exceeded"))
def refused_for_good() -> Swaps:
    """What was refused is never tried again, though its cause may be gone."""
    refuse = EngineFacts.refuse

    def final(self: EngineFacts, *others: Any) -> None:
        refuse(self, *others)
        assert self.refused is not None
        object.__setattr__(self.refused, "retry_at", inf)

    return [swap(EngineFacts, "refuse", final)]
