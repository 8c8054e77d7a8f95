"""Pods of a watched run, and the places that they hold."""

from collections.abc import Mapping
from typing import Any

from muster.kinds.declaration import Claim
from muster.kinds.places.membership import WatchedMembership
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, Pod, PodPhase, PodSpec
from tests.builders import NOW, plan, pod

OWNER = "raycluster/rc"
CLAIMS = {OWNER: Claim(OWNER, epoch=0)}
HEAD = Group("headgroup", 1, 1, PodSpec(), 0)
PAIR = Group("worker", 1, 2, PodSpec(), 0)
TWO = plan(groups=(PAIR,))
FAILED: dict[str, Any] = {"phase": PodPhase.FAILED, "ready": False, "exit": Exit("main", 1, 0, "Error", "", NOW)}


def life(name: str, index: int = 0, *, created: float = 0.0, owner: str = OWNER, **changes: Any) -> Pod:
    """A pod of that name, which is its uid as well."""
    return pod(index, name=name, uid=name, owner=owner, created=created, **changes)


def membership(*pods: Pod, of: Plan = TWO, claims: Mapping[str, Claim] = CLAIMS) -> WatchedMembership:
    """The members of that plan among these pods."""
    members = WatchedMembership()
    members.follow(of, claims, pods)
    return members


def names(members: WatchedMembership, epoch: int = 0) -> dict[int, str]:
    """By rank the name of the pod that counts."""
    return {rank: each.name for rank, each in sorted(members.view.of(epoch).members.items())}
