"""The reports of the controller of a watched object: its state, and the reason for pods that it does not make."""

from enum import StrEnum

import msgspec

from muster.state.view.progress import StepReport


class Remark(msgspec.Struct, frozen=True, gc=False):
    """A reason for pods that are not made, in an Event or in a condition of the object.

    The texts are bounded, on one line, and without secrets.
    """

    reason: str
    message: str = ""
    at: float = 0.0
    """The time of its last record, in wall seconds by the clock of the controller; 0 if that is not known."""
    source: str = ""
    """The controller: ``job-controller``; empty for a condition."""
    about: str = ""
    """The part of the run that it is about: ``Job llm-w-0``; empty for the watched object itself."""


class OwnVerdict(StrEnum):
    """The verdict of an object's own controller."""

    NOTHING = "Nothing"
    """The object runs, or is about to."""
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    SUSPENDED = "Suspended"
    ASK_PODS = "AskPods"
    """No status of its own: it has succeeded when all pods have, and failed when all ended and some failed."""

    @property
    def over(self) -> bool:
        """True if the object has ended."""
        return self is OwnVerdict.SUCCEEDED or self is OwnVerdict.FAILED


class OwnState(msgspec.Struct, frozen=True, gc=False):
    """The report of an object's own controller. Times are wall seconds, None if it does not report them."""

    verdict: OwnVerdict = OwnVerdict.NOTHING
    reason: str = ""
    message: str = ""
    word: str = ""
    """The controller's own word for the state while it runs: Initializing."""
    queued: str = ""
    """The sentence on its suspension, if the queue of its own scheduler, which makes no pods, suspends it."""
    epoch: int = 0
    """The epoch by its own count: JobSet's restarts, a RayJob's attempts. A higher one is a restart by its controller.
    -1: it does not count, and the newest of its pods show the epoch."""
    attempt: str = ""
    """Name of the present attempt, if its controller names attempts and does not count them: another name than the
    last one is the next epoch (``kinds.places.attempts``). Empty between two of them."""
    started_at: float | None = None
    finished_at: float | None = None
    """The time at which the object ended."""
    report: StepReport | None = None
    """The last report of its program to its controller."""
    reported: str = ""
    """The time of that report, in the program's words: another one is another report."""
    clearing: str = ""
    """The fate of its pods after its end, if its controller does not delete them at once."""
    remark: Remark | None = None
    """The complaint of a condition that is no verdict."""
