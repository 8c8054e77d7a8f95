"""What the daemon knows of one watched object beside what every entry has."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from muster.api.values.secrets.environment import NO_SECRETS, Secrets
from muster.kinds.declaration.watched_kind import Claim, WatchedKind
from muster.kinds.places.attempts import Attempts
from muster.kinds.places.membership import WatchedMembership
from muster.kinds.planning.parts import Part, parts_of
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod

LOOKED_AT: Final = 4_096
"""Ranks among which a member without a pod is looked for."""


@dataclass(slots=True)
class WatchedRun:
    """One watched object. ``created`` is the wall second of its creation, 0 where it is not known."""

    name: str
    """The name of its kind in the settings."""
    kind: WatchedKind
    created: float = 0.0
    members: WatchedMembership = field(default_factory=WatchedMembership)
    claims: Mapping[str, Claim] = field(default_factory=dict)
    """By owner key."""
    attempts: Attempts = field(default_factory=Attempts)
    refused: str = ""
    """The problem of the object that an Event has said last."""
    alone: Plan | None = None
    """Its plan by the object alone, without what its controller has made of it."""
    pod: Pod | None = None
    """Of labelled pods that cannot be watched over: the one that the Event is about."""
    asked_at: float | None = None
    """When the API server accepted last that it ends by a deadline of its own; wall seconds."""
    secrets: Secrets = NO_SECRETS
    """The secrets in its spec, while pods of it are missing."""
    announced: bool = False
    """An Event says that it is to end by that deadline."""

    def parts(self, plan: Plan, epoch: int) -> tuple[Part, ...]:
        """What is asked why pods are missing: the parts of the first member without one."""
        tally, ranks = self.members.view.of(epoch), islice(range(plan.size), LOOKED_AT)
        rank = next((each for each in ranks if each not in tally.members and each not in tally.collected), 0)
        return parts_of(self.kind, plan, self.claims, rank)
