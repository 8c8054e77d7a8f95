"""Refusal: an action that the API server does not allow keeps the experiment waiting, or ends it.

A final refusal (the pod itself is not valid, the namespace is going) fails the experiment. Every other one makes it
Stuck with the refusal's reason and is tried again after a pause that doubles from 5 s to 30 s, because quota,
admission and rights change without notice to Muster. Refusals that often pass within a second (5xx, 429, no answer in
time) are reported once they have lasted for 2 s. Until the pause is over, the refused action and those that build on it
are held back; everything else continues, so a suspension or a deadline never waits for a quota.
"""

from muster.state.facts.context import Context
from muster.state.policies.verdicts import Fail
from muster.state.vocabulary.actions import Action

READ_PODS = "ReadPods"
"""The name for the live read of the pods, which is no action of a decision."""


def judge(context: Context) -> Fail | None:
    """Fail on a final refusal."""
    refusal = context.view.engine.refusal
    return Fail(refusal.reason, refusal.message) if refusal and refusal.final else None


def hold(context: Context, actions: tuple[Action, ...]) -> tuple[tuple[Action, ...], bool]:
    """Return the actions that may be carried out now, and whether others wait until the refusal's pause is over."""
    refused = context.view.engine.refused
    if refused is None or context.now >= refused.retry_at:
        return actions, False
    for number, action in enumerate(actions):
        if type(action).__name__ == refused.action:
            return actions[:number], True
    return actions, False


def reading_refused(context: Context) -> bool:
    """Return True if the pods cannot be read past the cache, and that is reported."""
    refused = context.view.engine.refused
    return refused is not None and refused.action == READ_PODS and refused.reported


def retry_at(context: Context) -> float | None:
    """Return when the refused action is tried again."""
    refused = context.view.engine.refused
    return refused.retry_at if refused else None
