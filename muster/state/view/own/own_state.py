"""What the controller of a watched object says of it."""

from enum import StrEnum

import msgspec

from muster.state.view.own.remark import Remark
from muster.state.view.progress import StepReport


class Said(StrEnum):
    """The verdict of an object's own controller."""

    NOTHING = "Nothing"
    """It runs, or is about to."""
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    SUSPENDED = "Suspended"
    ASK_PODS = "AskPods"
    """It has no status of its own: it has succeeded when all pods have, and failed when all ended and some failed."""

    @property
    def over(self) -> bool:
        """The object has ended."""
        return self is Said.SUCCEEDED or self is Said.FAILED


class OwnState(msgspec.Struct, frozen=True, gc=False):
    """What an object's own controller says of it. Times are wall seconds, None where it does not say."""

    said: Said = Said.NOTHING
    reason: str = ""
    message: str = ""
    word: str = ""
    """In its own word, what it is at while it runs: Initializing."""
    queued: str = ""
    """Where it is suspended by the queue of its own scheduler, which makes no pods: the sentence that says so."""
    epoch: int = 0
    """Of its own counting: JobSet's restarts, a RayJob's attempts. A higher one is a restart by its controller.
    -1: it does not count, and the newest of its pods say the epoch."""
    attempt: str = ""
    """Name of the present attempt, where its controller names attempts and does not count them: another name than the
    last one is the next epoch (``kinds.places.attempts``). Empty between two of them."""
    started_at: float | None = None
    finished_at: float | None = None
    """When the object ended."""
    report: StepReport | None = None
    """What its program has reported to its controller last."""
    reported: str = ""
    """When, in the program's words: another one is another report."""
    clearing: str = ""
    """What becomes of its pods after its end, where its controller does not delete them at once."""
    remark: Remark | None = None
    """What a condition complains of, where that is no verdict."""
