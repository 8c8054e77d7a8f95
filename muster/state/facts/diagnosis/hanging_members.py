"""The members of a gang that hangs: those that are behind, else those that stand elsewhere, else all that report."""

from collections.abc import Mapping
from itertools import islice

from muster.api.values.timestamps import whole_time
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.finding import Diagnosis
from muster.state.facts.hang import hung, standstill, still, where
from muster.state.view.places.report import PlaceGroup
from muster.state.view.places.sentence import outlying

SHOWN_CALLS = 6
"""Calls of a stack that the evidence has."""


def of_hang(context: Context, most: int) -> dict[int, Diagnosis]:
    """The members that hold the gang up, at most ``most``; none where it gets on or does not report."""
    progress, stand = hung(context), still(context)
    stands = context.view.places_of(context.record.epoch)
    apart = outlying(stands) if stands is not None else {}
    stacks = stands.stacks if stands is not None else {}
    if progress is None:
        if stand is None:
            return {}
        said = standstill(stand)
        return {
            rank: Diagnosis(Causes.HUNG, apart[rank].activity, said + _calls(apart[rank], stacks))
            for rank in islice(apart, most)
        }
    steps = {rank: each.report.step for rank, each in progress.ranks.items()}
    behind = [rank for rank, step in steps.items() if step < progress.step]
    said = f"no rank has reported a step since {whole_time(progress.moved_at)}; last step {progress.step}"
    said = "; ".join(filter(None, (said, where(context))))
    named = behind or [rank for rank in apart if rank in steps] or steps
    found = {}
    for rank in islice(named, most):
        what = f"no step since step {steps[rank]}"
        if rank in apart:
            what, calls = f"{what}, {apart[rank].activity}", _calls(apart[rank], stacks)
            found[rank] = Diagnosis(Causes.HUNG, what, said + calls)
        else:
            found[rank] = Diagnosis(Causes.HUNG, what, said)
    return found


def _calls(group: PlaceGroup, stacks: Mapping[int, tuple[str, ...]]) -> str:
    """The stack of the first rank of the group, where it was read."""
    calls = stacks.get(group.ranks[0], ())
    return f"; rank {group.ranks[0]}, the innermost call first: {', '.join(calls[:SHOWN_CALLS])}" if calls else ""
