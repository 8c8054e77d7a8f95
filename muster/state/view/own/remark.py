"""The reason that a controller gives for pods that it does not make: in an Event, or in a condition of the object."""

import msgspec


class Remark(msgspec.Struct, frozen=True, gc=False):
    """One such statement. The texts are bounded, on one line, and without secrets."""

    reason: str
    message: str = ""
    at: float = 0.0
    """The time of its last record, in wall seconds by the clock of the controller; 0 if that is not known."""
    source: str = ""
    """The controller: ``job-controller``; empty for a condition."""
    about: str = ""
    """The part of the run that it is about: ``Job llm-w-0``; empty for the watched object itself."""
