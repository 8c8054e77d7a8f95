"""What a PyTorch program may import: ``from muster.torch import pause, report``.

The reports go to the TCPStore of the default process group, which Muster asks anyway who has joined
(``muster.torch.reporting``). Only the standard library is imported, and torch is found where the program has imported
it. The daemon never imports this package.
"""

from contextlib import AbstractContextManager
from typing import Any

from muster.torch.reporting import reports

__all__ = ["pause", "report"]


def report(step: Any, /, **scalars: Any) -> None:
    """Say that this process has come to that step, a whole number; ``scalars`` are up to eight numbers beside it.

    Call it in each step, in every process, before its first collective: then a rank that does not come to that step is
    behind the others, and is named. Where no process has reported for a minute (45 s where one is behind), or for five
    times the longest pause, the gang is called hung; for a longer pause there is ``pause``. It never waits and never
    raises, and before ``init_process_group`` it does nothing.
    """
    reports.report(step, scalars)


def pause(seconds: float, kind: str = "") -> AbstractContextManager[None]:
    """Announce that no step is reported for a while: for so many seconds no hang is said.

    ``with pause(600): save_checkpoint()``, in each process that makes the checkpoint. The end of the block ends the
    pause, also with an exception.

    ``kind`` says what it is for: ``checkpoint_save`` or ``checkpoint_restore`` of the goodput; all else is ``other``.
    """
    return reports.pause(seconds, kind)
