"""The members of a gang that hangs: those that are behind, or all that report where none is."""

from itertools import islice

from muster.api.values.timestamps import whole_time
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.finding import Diagnosis
from muster.state.facts.hang import hung


def of_hang(context: Context, most: int) -> dict[int, Diagnosis]:
    """The members that hold the gang up, at most ``most``; none where it gets on or does not report."""
    progress = hung(context)
    if progress is None:
        return {}
    steps = {rank: each.report.step for rank, each in progress.ranks.items()}
    behind = [rank for rank, step in steps.items() if step < progress.step]
    said = f"no rank has reported a step since {whole_time(progress.moved_at)}; last step {progress.step}"
    return {
        rank: Diagnosis(Causes.HUNG, f"no step since step {steps[rank]}", said)
        for rank in islice(behind or steps, most)
    }
