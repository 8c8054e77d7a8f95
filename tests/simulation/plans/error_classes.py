"""Errors that a writer cannot tell apart.

Each writer handles a few errors on their own and all others alike, so one of the others stands for all of them.
``test_error_classes.py`` plays what is left out here and compares it with what stands for it.
"""

from collections.abc import Sequence

from tests.simulation.oracles.histories import Step
from tests.simulation.plans.plan import LOSSES, REFUSALS

FAILURES = (*(("refuse", how) for how in (*REFUSALS, "reset")), *(("lose", how) for how in LOSSES))
"""Every way in which a write can fail: kind of fault, and its ``how``."""
ORDINARY = ("500", "504")
"""These stand for the errors that no writer handles on their own."""
HANDLED = {
    ("POST", "events"): ("429", "reset"),
    ("PUT", "experiments"): ("429",),
    ("POST", "services"): ("403", "429"),
    ("POST", "pods"): ("403", "429"),
    ("DELETE", "pods"): ("403", "409", "429"),
}
"""What the writers handle on their own: ``muster.reconcilers.events``, ``muster.reconcilers.native``, and
``muster.daemon.controller``, which waits for the Retry-After of a 429."""
SOON = 0.1
"""Seconds within which the next Event of a story follows. An error on the last one can stop nothing."""


def distinct(writes: Sequence[Step], number: int) -> list[tuple[str, str]]:
    """The distinct ways in which that write of a run (numbered from 1) can fail."""
    write = writes[number - 1]
    handled = HANDLED.get((write.kind, write.resource))
    if write.resource == "events" and not any(
        later.resource == "events" and later.at < write.at + SOON for later in writes[number:]
    ):
        handled = ()
    return [(kind, how) for kind, how in FAILURES if handled is None or how in (*ORDINARY, *handled)]
