"""Steps: what the programs of a synchronous gang report of their progress, with the pauses that happen to them."""

from collections.abc import Sequence

from muster.state.view.progress import StepReport
from tests.scenarios.incidents import Pauses


class Steps:
    """A gang whose members wait for each other in each step of ``every`` seconds, and in each pause of one of them."""

    def __init__(self, every: float, size: int, pauses: Sequence[Pauses]) -> None:
        self.every = every
        self.size = size
        self.pauses = sorted(pauses, key=lambda each: each.after)

    def reports(self, elapsed: float) -> tuple[StepReport, ...]:
        """What the members have reported ``elapsed`` seconds after their gang was assembled."""
        paused, longest, calls, inside = 0.0, 0.0, 1, None
        for each in self.pauses:
            begin = each.after + paused
            if elapsed <= begin:
                break
            if elapsed < begin + each.seconds:
                paused, inside = paused + elapsed - begin, each
                break
            paused += each.seconds
            if each.announced:
                calls += 2
            else:
                longest = max(longest, self.every + each.seconds)
        step = int((elapsed - paused) / self.every)
        longest = max(longest, self.every if step else 0.0)
        behind = -1 if inside is None or inside.announced or inside.together else inside.rank % self.size
        announced = inside.seconds if inside is not None and inside.announced else 0.0
        calls += step + (1 if announced else 0)
        at = step * self.every + sum(each.seconds for each in self.pauses if each.after < step * self.every)
        return tuple(
            StepReport(rank, max(0, step - (rank == behind)), calls, at, longest, pause=announced)
            for rank in range(self.size)
        )
