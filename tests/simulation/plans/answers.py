"""Answers that are the same to whoever wrote.

A writer tells errors apart by the few that it has a word of its own for, and does one and the same about all others.
``test_answers.py`` plays what is left out here against what stands for it.
"""

from collections.abc import Sequence

from tests.simulation.oracles.histories import Step
from tests.simulation.plans.plan import LOSSES, REFUSALS

WAYS = (*(("refuse", how) for how in (*REFUSALS, "reset")), *(("lose", how) for how in LOSSES))
"""Each way in which a write goes wrong: kinds of faults, and how they strike."""
ORDINARY = ("500", "504")
"""They stand for those that nobody has a word for."""
NAMED = {
    ("POST", "events"): ("429", "reset"),
    ("PUT", "experiments"): ("429",),
    ("POST", "services"): ("403", "429"),
    ("POST", "pods"): ("403", "429"),
    ("DELETE", "pods"): ("403", "409", "429"),
}
"""What the writers have a word for: ``muster.reconcilers.events``, ``muster.reconcilers.native``, and
``muster.daemon.controller``, which waits as long as a 429 says."""
SOON = 0.1
"""Seconds within which the next line of a story is told. Where none follows there is nothing for a word to stop."""


def told_apart(writes: Sequence[Step], number: int) -> list[tuple[str, str]]:
    """The ways in which that write of a run (from 1) can go wrong that are different to its writer."""
    write = writes[number - 1]
    named = NAMED.get((write.kind, write.resource))
    if write.resource == "events" and not any(
        later.resource == "events" and later.at < write.at + SOON for later in writes[number:]
    ):
        named = ()
    return [(kind, how) for kind, how in WAYS if named is None or how in (*ORDINARY, *named)]
