"""Which pods are members of a watched run, and which of two pods holds a place.

A pod is a member if its labels give it a place of the plan. Its own controller replaces it by another one in the same
place, while the first may still end: then the newest of those at work counts, and the others wait here. Pods without
an index take the lowest place that is free, and so do pods beyond the last place: what a scale-down leaves keeps its
index. They leave it to a pod whose index it is, and take another. Where none is free they wait, and the first of them
takes the next place whose pod goes or ends: all places are taken while as many pods are at work as the plan wants. A
pod beyond the last place that is being deleted takes none, because it is what the scale-down removes.

Who may create pods in the namespace may write any labels. So a forged pod can take a place of runs of its own
namespace, and of no other.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple

from msgspec.structs import replace

from muster.kinds.declaration import Claim
from muster.kinds.places.waiting import PodQueue
from muster.state.view.view import View
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.subject import PODS

Is = Callable[[int], bool]


class FreePlaces:
    """The free and lost places of one job. ``free`` and ``lost`` check the present state of a rank.

    A free place has no pod; the pod of a lost one has ended without success or is terminating. Every place is looked at
    once when the job is first asked for one, and after that only those whose pod has changed: n pods that come one by
    one cost n log n.
    """

    def __init__(self, ranks: range, free: Is, lost: Is) -> None:
        self.ranks = ranks
        self._free, self._lost = free, lost
        self._frees = [rank for rank in ranks if free(rank)]  # ascending, and so a heap
        self._losts = [rank for rank in ranks if lost(rank)]

    def __len__(self) -> int:
        """Return the number of entries, some of them out of date."""
        return len(self._frees) + len(self._losts)

    def note(self, rank: int) -> None:
        """Note a change of the pod of a place."""
        if self._free(rank):
            heappush(self._frees, rank)
        elif self._lost(rank):
            heappush(self._losts, rank)
        if len(self) > 4 * len(self.ranks) + 16:  # one place may change again and again
            self._frees, self._losts = sorted(set(self._frees)), sorted(set(self._losts))

    def lowest(self) -> int | None:
        """Return the lowest free place, else the lowest lost one; None where every pod is at work."""
        for heap, holds in ((self._frees, self._free), (self._losts, self._lost)):
            while heap and not holds(heap[0]):
                heappop(heap)
            if heap:
                return heap[0]
        return None


@dataclass(slots=True)
class _Replica:
    job: int
    pods: set[str] = field(default_factory=set)
    """The uids of its pods."""


@dataclass(slots=True)
class Replicas:
    """The replicas of one group in one epoch, where they keep their numbers when others go (Ray with several hosts).

    KubeRay names each replica by an index, and a scale-down removes any of them: of two that are left the indices may
    be 0 and 7. The pods of one replica are one job of the plan. A replica has the job of its own index as long as that
    is free, else the lowest one that is, else one whose pods all end (``ends``). It keeps the job until its last pod is
    gone.
    """

    jobs: int
    ends: Callable[[int], bool]
    _known: dict[int, _Replica] = field(default_factory=dict)
    """By replica index."""
    _held: dict[int, int] = field(default_factory=dict)
    """By job, the index of the replica that took it last."""

    def job_of(self, index: int, uid: str) -> int | None:
        """Return the job of the replica that a pod belongs to; None where every job is at work."""
        replica = self._known.get(index)
        if replica is None:
            job = self._job(index)
            if job is None:
                return None
            replica = self._known[index] = _Replica(job)
            self._held[job] = index
        replica.pods.add(uid)
        return replica.job

    def leave(self, index: int, uid: str) -> None:
        """Remove a pod that is gone."""
        replica = self._known.get(index)
        if replica is None:
            return
        replica.pods.discard(uid)
        if not replica.pods:
            del self._known[index]
            if self._held.get(replica.job) == index:
                del self._held[replica.job]

    def _job(self, index: int) -> int | None:
        if index < self.jobs and index not in self._held:
            return index
        free = next((job for job in range(self.jobs) if job not in self._held), None)
        return free if free is not None else next((job for job in range(self.jobs) if self.ends(job)), None)


Seat = tuple[int, int]
"""Epoch and rank."""


@dataclass(slots=True)
class WatchedMembership:
    """The pods of one watched object: members, which ``view`` counts, and others."""

    view: View = field(default_factory=View)
    others: dict[str, Pod] = field(default_factory=dict)
    """By uid: pods that have no place in the plan."""
    services: frozenset[str] = frozenset()
    """Always empty: Muster makes no Service for a watched run."""
    _plan: Plan | None = None
    _claims: Mapping[str, Claim] = field(default_factory=dict)
    _waiting: PodQueue = field(default_factory=PodQueue)
    """Those of ``others`` that are at work, and take the next place that becomes free."""
    _rivals: dict[Seat, dict[str, Pod]] = field(default_factory=dict)
    """By place, then uid: all pods of the places that have more than one."""
    _given: dict[str, Seat] = field(default_factory=dict)
    """By uid: the places that were given to pods, as none is their own by an index."""
    _taken: dict[Seat, str] = field(default_factory=dict)
    """By place, the uid of such a pod."""
    _places: dict[Seat, FreePlaces] = field(default_factory=dict)
    """By epoch and first rank: where pods without an index, or beyond the last place, have their places."""
    _replicas: dict[tuple[int, str], Replicas] = field(default_factory=dict)
    """By epoch and name: the groups whose replicas keep their indices."""

    @property
    def foreign(self) -> int:
        """Return the number of pods without a place."""
        return len(self.others) if self._plan is not None else 0

    def follow(self, plan: Plan, claims: Mapping[str, Claim], pods: Iterable[Pod]) -> None:
        """Judge all pods by that plan and these claims; cheap where neither moves a pod."""
        before, self._plan = self._plan, plan
        if before is not None and _shape(before) == _shape(plan) and claims == self._claims:
            return
        self._claims = claims
        self.view.clear()
        indices = self._given, self._taken, self._places, self._replicas
        for held in (self.others, self._waiting, self._rivals, *indices):
            held.clear()
        for pod in sorted(pods, key=_age):
            self.change(None, pod)

    def change(self, old: Pod | None, new: Pod | None) -> bool:
        """Replace one pod's record (None: did not exist, or is gone). True if what is counted changed."""
        before = None if old is None or self._stood(old) else self._seat(old)
        after = None if new is None else self._seat(new)
        changed = False
        if old is not None and before is not None and before != after:
            changed = self._leave(before, old.uid)
        if new is None:
            if old is not None:
                self._forget(old)
        elif after is None:
            self._stand(new)
        else:
            guest = self._guest(after, new)
            changed = self._sit(after, self._placed(after, new)) or changed
            if guest is not None:
                changed = self.change(None, guest) or changed
        if self._places:
            self._note(before)
            self._note(after)
        for seat in {before, after} if self._waiting else ():
            changed = self._offer(seat) or changed
        return changed

    def _stand(self, pod: Pod) -> None:
        """Note that the pod has no place, or none yet."""
        self.others[pod.uid] = pod
        if not (pod.failed or pod.terminating) and (places := self._wanted(pod)) is not None:
            self._waiting.add((places.epoch, places.ranks.start), pod)

    def _stood(self, pod: Pod) -> bool:
        """Return True if the pod had no place; it no longer waits for one."""
        self._waiting.leave(pod.uid)
        return self.others.pop(pod.uid, None) is not None

    def _offer(self, seat: Seat | None) -> bool:
        """Give a place that has no pod at work to the pod that has waited longest, and to all pods of its replica."""
        group = self._plan.group_of(seat[1]) if seat is not None and self._plan is not None else None
        if seat is None or group is None or not (self._is_free(*seat) or self._is_lost(*seat)):
            return False
        where = seat[0], _first(group, seat[1])
        pod = self._waiting.first(where)
        if pod is None or self._seat(pod) is None:
            return False
        changed = False
        for each in self._waiting.replica(where, pod.job) if group.sparse else (pod,):
            changed = self.change(each, each) or changed
        return changed

    def _guest(self, seat: Seat, pod: Pod) -> Pod | None:
        """Return the pod at work that was given the place of ``pod`` by its index, after it has left it."""
        uid, held = self._taken.get(seat), self.view.of(seat[0]).members.get(seat[1])
        if uid is None or uid == pod.uid or held is None or held.uid != uid:
            return None
        if any(each.failed or each.terminating for each in (pod, held)):
            return None
        self._leave(seat, uid)
        self._forget(held)
        return held

    def _forget(self, pod: Pod) -> None:
        given = self._given.pop(pod.uid, None)
        if given is not None and self._taken.get(given) == pod.uid:  # another pod may have taken it since
            del self._taken[given]
        for replicas in self._replicas.values():
            replicas.leave(pod.job, pod.uid)

    def _note(self, seat: Seat | None) -> None:
        if seat is None or self._plan is None or (group := self._plan.group_of(seat[1])) is None:
            return
        if (places := self._places.get((seat[0], _first(group, seat[1])))) is not None:
            places.note(seat[1])

    def _sit(self, seat: Seat, pod: Pod) -> bool:
        epoch, rank = seat
        present = self.view.of(epoch).members.get(rank)
        rivals = self._rivals.get(seat)
        if rivals is None and (present is None or present.uid == pod.uid):
            return self.view.change(present, pod)
        if rivals is None:
            assert present is not None
            rivals = self._rivals[seat] = {present.uid: present}
        rivals[pod.uid] = pod
        if present is None or present.uid == pod.uid:
            return self._choose(seat, present)
        return self._replace(seat, present, pod) if _order(pod) > _order(present) else False

    def _leave(self, seat: Seat, uid: str) -> bool:
        epoch, rank = seat
        present = self.view.of(epoch).members.get(rank)
        rivals = self._rivals.get(seat)
        if rivals is None:
            return self.view.change(present, None) if present is not None and present.uid == uid else False
        rivals.pop(uid, None)
        changed = self._choose(seat, present) if present is None or present.uid == uid else False
        if len(rivals) <= 1:
            del self._rivals[seat]
        return changed

    def _choose(self, seat: Seat, present: Pod | None) -> bool:
        """Let the newest pod at work hold the place, else the newest that is not terminating."""
        best = max(self._rivals[seat].values(), key=_order)
        if present is None or present.uid == best.uid:
            return self.view.change(present, best)
        return self._replace(seat, present, best)

    def _replace(self, seat: Seat, present: Pod, best: Pod) -> bool:
        if present.succeeded:
            self.view.of(seat[0]).begin_again(present)
        return self.view.change(None, best)  # which replaces the earlier one

    def _seat(self, pod: Pod) -> Seat | None:
        """Return the place that a pod's labels give it, else one that is free; None where it has none."""
        wanted = self._wanted(pod)
        if wanted is None:
            return None
        epoch, group, ranks = wanted
        if group.sparse and pod.index >= 0:
            job = self._replica(epoch, group, pod)
            return None if job is None else (epoch, group.ranks_of(job)[pod.index])
        own = (epoch, ranks.start + pod.index) if 0 <= pod.index < len(ranks) else None
        if own is not None and not self._shares(own, pod):
            return own
        if (seat := self._given.get(pod.uid)) is not None and seat[0] == epoch:
            return seat
        if own is None and pod.terminating and pod.index >= 0:
            return None
        return self._free(epoch, ranks, pod) or own

    def _shares(self, seat: Seat, pod: Pod) -> bool:
        """Return True if a labelled pod at work has the same index and is no replacement: that comes after an end."""
        if self._plan is None or self._plan.subject != PODS:
            return False
        if pod.uid in self._given:
            return True
        held = self.view.of(seat[0]).members.get(seat[1])
        if held is None or held.uid == pod.uid or held.uid in self._given or pod.terminating:
            return False
        at_work = held.live and not (held.failed or held.terminating or held.succeeded)
        return at_work and (not pod.failed or held.created <= pod.created)

    def _wanted(self, pod: Pod) -> "_Places | None":
        """Return the places in which a pod has its own, or may be given one; None if its labels make it no member."""
        plan, claim = self._plan, self._claims.get(pod.owner)
        if plan is None or claim is None or pod.epoch < 0:
            return None
        if pod.owner == plan.title and pod.parent not in ("", plan.uid):  # of a deleted object of that name
            return None
        group = plan.group(claim.group or pod.group)
        if group is None or pod.job < 0:
            return None
        epoch = claim.epoch if claim.epoch >= 0 else pod.epoch
        if group.sparse:
            ranks = range(group.first_rank, group.first_rank + group.size)
            return _Places(epoch, group, ranks) if pod.index < group.completions else None
        return _Places(epoch, group, group.ranks_of(pod.job)) if pod.job < group.replicas else None

    def _replica(self, epoch: int, group: Group, pod: Pod) -> int | None:
        """Return the job of the replica that a pod belongs to."""
        replicas = self._replicas.get((epoch, group.name))
        if replicas is None:
            replicas = Replicas(group.replicas, partial(self._ends, epoch, group))
            self._replicas[epoch, group.name] = replicas
        return replicas.job_of(pod.job, pod.uid)

    def _ends(self, epoch: int, group: Group, job: int) -> bool:
        members = self.view.of(epoch).members
        held = (members.get(rank) for rank in group.ranks_of(job))
        return all(pod is None or pod.failed or pod.terminating for pod in held)

    def _free(self, epoch: int, ranks: range, pod: Pod) -> Seat | None:
        """Return the lowest place without a pod, else the lowest with a pod that failed or is terminating."""
        if (places := self._places.get((epoch, ranks.start))) is None:
            places = FreePlaces(ranks, partial(self._is_free, epoch), partial(self._is_lost, epoch))
            self._places[epoch, ranks.start] = places
        if (rank := places.lowest()) is None:
            return None
        seat = epoch, rank
        self._given[pod.uid] = seat
        self._taken[seat] = pod.uid
        return seat

    def _is_free(self, epoch: int, rank: int) -> bool:
        return rank not in self.view.of(epoch).members and (epoch, rank) not in self._taken

    def _is_lost(self, epoch: int, rank: int) -> bool:
        held = self.view.of(epoch).members.get(rank)
        return held is not None and (held.failed or held.terminating)

    def _placed(self, seat: Seat, pod: Pod) -> Pod:
        """Return the pod with its rank, and with the group of its claim."""
        group = self._claims[pod.owner].group or pod.group
        if (pod.epoch, pod.rank, pod.group) == (*seat, group):
            return pod
        return replace(pod, epoch=seat[0], rank=seat[1], group=group)


class _Places(NamedTuple):
    """The places of one job, or of a group whose jobs keep no order."""

    epoch: int
    group: Group
    ranks: range


def _first(group: Group, rank: int) -> int:
    """Return the first of the places among which a pod of that rank may be given one."""
    return group.first_rank if group.sparse else rank - (rank - group.first_rank) % group.completions


def _order(pod: Pod) -> tuple[bool, bool, float, bool, str]:
    return not (pod.terminating or pod.failed), not pod.terminating, pod.created, pod.live, pod.uid


def _age(pod: Pod) -> tuple[float, str]:
    return pod.created, pod.uid


def _shape(plan: Plan) -> tuple[object, ...]:
    return plan.uid, plan.name, tuple((g.name, g.replicas, g.completions, g.first_rank, g.sparse) for g in plan.groups)
