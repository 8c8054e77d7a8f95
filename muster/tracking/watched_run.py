"""The facts about one watched object that other entries do not have."""

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
"""Ranks that are searched for a member without a pod."""


@dataclass(slots=True)
class WatchedRun:
    """One watched object. ``created`` is the wall second of its creation, 0 if it is not known."""

    name: str
    """The name of its kind in the settings."""
    kind: WatchedKind
    created: float = 0.0
    members: WatchedMembership = field(default_factory=WatchedMembership)
    claims: Mapping[str, Claim] = field(default_factory=dict)
    """The claims on pods, by owner key."""
    attempts: Attempts = field(default_factory=Attempts)
    refused: str = ""
    """The problem that the last Event about the object named."""
    alone: Plan | None = None
    """The plan by the object alone, without the object that its controller made."""
    pod: Pod | None = None
    """The pod that the Event about unwatchable labelled pods names."""
    asked_at: float | None = None
    """The wall second at which the API server last accepted the end by a deadline of the run's own."""
    secrets: Secrets = NO_SECRETS
    """The secrets in the spec, while pods are missing."""
    announced: bool = False
    """True once an Event has announced the end by that deadline."""

    def parts(self, plan: Plan, epoch: int) -> tuple[Part, ...]:
        """Return the parts to ask why pods are missing: those of the first member without a pod."""
        tally, ranks = self.members.view.of(epoch), islice(range(plan.size), LOOKED_AT)
        rank = next((each for each in ranks if each not in tally.members and each not in tally.collected), 0)
        return parts_of(self.kind, plan, self.claims, rank)
