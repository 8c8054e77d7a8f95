"""The table of causes of members that are missing or not at work. The list is closed.

The order is that of a sentence: the most definite cause, which needs a person first, comes first; one that is only a
consequence of another cause, or a normal step of a start, comes last.
"""

from collections.abc import Mapping
from typing import Final

from muster.state.facts.causes.at_work import AtWork, OfCoordinator
from muster.state.facts.causes.cannot_start import CannotStart
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.has_ended import HasEnded
from muster.state.facts.causes.on_its_way import OnItsWay
from muster.state.facts.context import Context
from muster.state.view.roll import CoordinatorState
from muster.state.view.stage import Shown, Stage, shown
from muster.state.vocabulary.pod import Pod


class Causes(CannotStart, HasEnded, OfCoordinator, AtWork, OnItsWay):
    """All causes, by name."""


CAUSES: Final = tuple(
    each
    for section in (CannotStart, HasEnded, OfCoordinator, AtWork, OnItsWay)
    for each in vars(section).values()
    if isinstance(each, MissingCause)
)

ORDER: Final[Mapping[MissingCause, int]] = {cause: place for place, cause in enumerate(CAUSES)}
"""The place of each cause in a sentence."""

BY_NAME: Final[Mapping[str, MissingCause]] = {cause.value: cause for cause in CAUSES}

REFUSED_BY: Final[Mapping[str, MissingCause]] = {reason: cause for cause in CAUSES for reason in cause.refusals}
"""Causes by the reasons of refusals that have a cause of their own."""

BY_PORT: Final[Mapping[CoordinatorState, MissingCause]] = {state: cause for cause in CAUSES for state in cause.ports}
"""Causes by the state of a coordinator's port."""

LOOKS_WELL: Final = frozenset(cause.value for cause in CAUSES if cause.looks_well)
"""The names of causes of members whose pods are ready in spite of them."""

_BY_REASON: Final = {Shown(at, reason): cause for cause in CAUSES for at in cause.stages for reason in cause.reasons}
OTHERWISE: Final = {at: cause for cause in CAUSES for at in cause.stages if not cause.reasons and not cause.when}
"""The row for pods in each stage to which no other row applies."""
_WHEN: Final[Mapping[Stage, tuple[MissingCause, ...]]] = {
    at: tuple(cause for cause in CAUSES if at in cause.stages and cause.when and not cause.reasons) for at in Stage
}


def of_pod(context: Context, pod: Pod) -> MissingCause:
    """Return the cause that a pod shows, by the first row that holds (``causes.cause``)."""
    shows = shown(pod, pod.rank in context.tally.done)
    if (found := _BY_REASON.get(shows)) is not None:
        return found
    finer = (cause for cause in _WHEN[shows.stage] if cause.when is not None and cause.when(context, pod))
    return next(finer, OTHERWISE[shows.stage])


def of_shown(shows: Shown) -> MissingCause:
    """Return the cause of pods that are only counted: rows with a ``when`` are not found."""
    return _BY_REASON.get(shows) or OTHERWISE[shows.stage]


def of_refusal(reason: str) -> MissingCause:
    """Return the cause of a refusal with that reason."""
    return REFUSED_BY.get(reason, Causes.REFUSED)


def counted(cause: MissingCause) -> MissingCause:
    """Return the cause as which the metric counts it."""
    if cause.when is not None:
        return OTHERWISE[cause.stages[0]]
    return BY_NAME[cause.counted_as] if cause.counted_as else cause


COUNTED: Final = tuple(cause for cause in CAUSES if counted(cause) is cause and not cause.in_roll)
"""The causes of the metric of missing ranks."""


def patience(shows: Shown) -> float:
    """Return the seconds after which a pod that shows this is called Stuck."""
    own, stage = of_shown(shows).patience, OTHERWISE[shows.stage].patience
    return own if own is not None else stage or 0.0
