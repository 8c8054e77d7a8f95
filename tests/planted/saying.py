"""Bugs in what is said: Stuck too late, forever or without a reason, and sentences that name something else."""

from dataclasses import replace
from typing import Any

from muster.state.facts import sentences
from muster.state.facts.diagnosis import diagnose, hangs
from muster.state.policies.failures import culprit, known
from muster.state.policies.gathering import blocked, obstacles
from muster.state.summary import obstacles as in_words
from muster.state.view.engine_facts import EngineFacts, Refusal
from muster.state.view.recorder import arrivals
from muster.state.view.stage import Doing
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap

ROOMS = (diagnose, sentences, in_words)
"""Those that say what a pod waits for."""


@bug(Hunt("clean", "image-not-pulled"), shown_by="is not called stuck")
def image_never_stuck() -> Swaps:
    """An image that cannot be pulled is said, and never called Stuck."""
    return [swap(blocked, "due", lambda record, obstacle: None)]


@bug(Hunt("clean", "image-not-pulled"), shown_by="is not called stuck")
def image_stuck_late() -> Swaps:
    """An image that cannot be pulled is called Stuck after a minute."""
    patience_of = obstacles.patience_of
    return [swap(obstacles, "patience_of", lambda pod: 60.0 if pod.scheduled else patience_of(pod))]


@bug(Hunt("clean", "unschedulable-restarts", operator="pytorch"), shown_by="the message does not say")
def scheduler_unheard() -> Swaps:
    """What the scheduler says of a pod without a node is not said."""
    return [
        swap(obstacles, "current", lambda context: None),
        *(swap(room, "why_idle", lambda pod: "not ready") for room in ROOMS),
    ]


@bug(Hunt("clean", "webhook-denies"), Hunt("clean", "quota-exceeded"), shown_by="the message does not say")
@instead_of(EngineFacts, "refuse")
def refusal_without_words(refuse: Any, self: EngineFacts, refusal: Refusal, *others: Any) -> None:
    """A refusal is reported without the API server's own words."""
    refuse(self, replace(refusal, message="The API server refuses to create a pod."), *others)


@bug(Hunt("hold", "member-fails"), shown_by="it should be")
def survivor_blamed() -> Swaps:
    """A survivor's abort is taken for the cause, because its rank is lower."""
    return [swap(culprit, "is_survivor", lambda plan, pod: False)]


@bug(Hunt("clean", "never-arrives-fails"), shown_by="it should be")
def deadline_forgets_what_was_known() -> Swaps:
    """A clock ends the experiment, and which rank was known to block the gang is in no cause."""
    return [swap(known, "remembered", lambda context, end: end)]


@bug(Hunt("clean", "slow-rank", operator="pytorch"), shown_by="is said to come last")
@instead_of(arrivals, "_judged")
def slow_rank_named_for_ever(judged: Any, here: Any, spans: Any, window: Any, fresh: Any, seconds: float) -> Any:
    """What was said of a slow rank stays when it is as fast as the others again."""
    after = judged(here, spans, window, fresh, seconds)
    return after if after.last or not window.last else after._replace(last=window.last, late=window.late)


@bug(Hunt("clean", "rank-evaluates", operator="pytorch"), shown_by="and its rank computes")
def work_unseen() -> Swaps:
    """A rank that computes while the others wait for it is called stuck, as one that hangs."""
    return [swap(Doing, "works", property(lambda doing: False))]


@bug(Hunt("clean", "rank-evaluates", operator="pytorch"), shown_by="and that is not said")
def work_unsaid() -> Swaps:
    """The status of a gang whose ranks wait for one that computes says that all have arrived."""
    return [swap(hangs, "of_work", lambda context: "")]


@bug(Hunt("clean", "slow-rank", operator="pytorch"), shown_by="that is not said at")
def slow_rank_unsaid() -> Swaps:
    """A rank that comes last is on the page and not in the status."""
    return [swap(hangs, "of_slow", lambda context: "")]
