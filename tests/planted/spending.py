"""Bugs of shares, budgets and refusals: who takes how much, and what is never given back."""

from math import inf
from typing import Any

from muster.daemon.steps.outcomes import Outcomes
from muster.kube.fair_share import FairShare
from muster.state.view.engine_facts import EngineFacts
from muster.state.view.probe_result import ProbeResult
from muster.state.view.turns import WriteBudget
from muster.tracking.entry import Entry
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap


@bug(Hunt("clean", "noisy-neighbours"), shown_by="moved by what happens in another namespace")
@instead_of(FairShare, "may_take")
def slots_for_whoever_comes(_: Any, self: FairShare, group: Any, flow: Any) -> bool:
    """Requests take slots in the order in which they come, whatever their namespace has taken already."""
    return self.busy < self.total


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
@instead_of(EngineFacts, "refuse")
def refused_for_good(refuse: Any, self: EngineFacts, *others: Any) -> None:
    """What was refused is never tried again, though its cause may be gone."""
    refuse(self, *others)
    assert self.refused is not None
    object.__setattr__(self.refused, "retry_at", inf)
