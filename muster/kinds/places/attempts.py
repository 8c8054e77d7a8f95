"""Counts the attempts of an object whose controller names them, and keeps the claims of those before.

A RayJob names the cluster of its present attempt. The name is gone for a moment between two attempts, and from the
suspension to the resumption, while pods of that cluster still run. So a claim stays with the epoch it had, and another
name than the last one is the next epoch. The count is in memory, and begins at what the object itself counts.
"""

from msgspec.structs import replace

from muster.kinds.declaration import Claim
from muster.state.view.own import OwnState, OwnVerdict

KEPT = 8
"""Claims of earlier attempts that are kept: their pods are gone seconds after the next attempt begins."""


class Attempts:
    """The attempts of one object, in the order in which they were seen."""

    def __init__(self) -> None:
        self._name = ""
        self._epoch = 0
        self._suspended = False
        self._claims: tuple[Claim, ...] = ()

    def follow(self, own: OwnState, claims: tuple[Claim, ...]) -> tuple[OwnState, tuple[Claim, ...]]:
        """Return the object's present state and claims, with the epochs that follow from the names of its attempts."""
        if not own.attempt and not self._name:
            return own, claims
        if not own.attempt and own.verdict is OwnVerdict.NOTHING and self._suspended:
            own = replace(own, verdict=OwnVerdict.SUSPENDED)  # it is resumed when its next attempt has a name
        self._suspended = own.verdict is OwnVerdict.SUSPENDED
        if own.attempt and self._name and own.attempt != self._name:
            self._epoch += 1
        self._name = own.attempt or self._name
        self._epoch = max(self._epoch, own.epoch)
        now = tuple(claim if claim.epoch >= 0 else replace(claim, epoch=self._epoch) for claim in claims)
        owners = {claim.owner for claim in now}
        before = [claim for claim in self._claims if claim.owner not in owners]
        self._claims = (*before[-KEPT:], *now)
        return replace(own, epoch=self._epoch), self._claims
