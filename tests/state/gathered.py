"""How far a gang has come together, with the sentences that say it."""

from collections.abc import Sequence
from typing import NamedTuple

from muster.state.facts.context import Context
from muster.state.facts.obstacle import Obstacle
from muster.state.policies.rendezvous import Assembly
from muster.state.summary.gathering import gathering
from muster.state.vocabulary.rules import ClockRule


class Gathered(NamedTuple):
    """An assembly in words. ``stuck`` is reason and message."""

    complete: bool
    coordinator_ready: bool
    arrived: int
    missing: tuple[int, ...]
    message: str
    stuck: tuple[str, str] | None
    look_again: float | None
    obstacle: Obstacle | None = None
    passed: Sequence[ClockRule] = ()


def gathered(context: Context, assembly: Assembly) -> Gathered:
    """That assembly, in words."""
    said = gathering(context, assembly)
    return Gathered(
        assembly.complete,
        assembly.coordinator_ready,
        assembly.arrived,
        assembly.missing,
        said.whole,
        (assembly.stuck, said.stuck) if assembly.stuck else None,
        assembly.look_again,
        assembly.obstacle,
        assembly.passed,
    )
