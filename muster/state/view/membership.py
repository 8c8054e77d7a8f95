"""Membership: which pods are members of an experiment.

Users who may create pods in any namespace write their labels and owner references as they like: the API server does not
check that an owner exists in the pod's namespace, and the uid of an Experiment is no secret. So a pod counts only if it
is what the plan makes of that member: its namespace is the experiment's and its controller is the experiment (views are
keyed by both), rank, group, job and index are those of one member, and its name is the one of that member in that
epoch and attempt. A namespace holds one pod of a name, so each rank has one pod in an attempt.

A pod that was a member and is no longer seen as one (its label or its controller was changed) leaves the view like a
deleted one. ``EngineFacts.vanished`` holds both until the live API shows which of them may still run.

Pods that are not members are held apart: they are never counted, probed, awaited or deleted. Pods that arrive before
their Experiment are held in the same way until there is a plan to judge them by.
"""

from dataclasses import dataclass, field

from msgspec.structs import replace

from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod

Shape = tuple[str, str, tuple[tuple[str, int, int, int], ...]]
"""Facts that decide which pods are members: uid, name, and for each group name, jobs, pods per job and first rank."""


@dataclass(slots=True)
class Membership:
    """The pods that one namespace holds of one owner: members, which ``view`` counts, and others."""

    view: View = field(default_factory=View)
    others: dict[str, Pod] = field(default_factory=dict)
    """By uid: the pods that are not members, or that wait for the plan."""
    edited: dict[str, Pod] = field(default_factory=dict)
    """By uid: members whose labels were changed, as the view counts them."""
    services: frozenset[str] = frozenset()
    """Names of the Services that the owner controls."""
    _plan: Plan | None = None
    _shape: Shape | None = None

    @property
    def empty(self) -> bool:
        """True if nothing of that owner exists."""
        return not (self.others or self.services or self.view.workloads or any(True for _ in self.view.pods()))

    @property
    def working(self) -> bool:
        """True if a pod that names the owner may still run, member or not."""
        seen = any(pod.live for pod in self.others.values()) or any(pod.live for pod in self.view.pods())
        return seen or bool(self.view.engine.vanished)

    @property
    def foreign(self) -> int:
        """The number of pods that name the experiment as their owner and are not members; 0 while there is no plan."""
        return len(self.others) if self._plan is not None else 0

    def change(self, old: Pod | None, new: Pod | None) -> bool:
        """Replace one pod's record (None: did not exist, or is gone). True if a tracked field of a member changed."""
        if old is not None and self.others.pop(old.uid, None) is not None:
            old = None
        if old is not None:
            old = self.edited.pop(old.uid, old)
            if new is not None and new.parent:
                self.others[new.uid] = new
                new = None
            if new is not None and _place(new) != _place(old):
                # The name shows which member a pod is and cannot change, whatever becomes of the labels.
                place = {"rank": old.rank, "epoch": old.epoch, "attempt": old.attempt}
                new = replace(new, **place, group=old.group, job=old.job, index=old.index)
                self.edited[new.uid] = new
        elif new is None:
            return False
        elif not self._admits(new):
            self.others[new.uid] = new
            return False
        if new is not None:
            self.view.engine.seen(new)
        elif old is not None:
            self.view.engine.vanish(old)
        return self.view.change(old, new)

    def follow(self, plan: Plan) -> bool:
        """Judge the pods by that plan. True if a pod became, or ceased to be, a member."""
        groups = tuple((group.name, group.replicas, group.completions, group.first_rank) for group in plan.groups)
        shape = plan.uid, plan.name, groups
        self._plan = plan
        if shape == self._shape:
            return False
        self._shape = shape
        before = {pod.uid for pod in self.view.pods()}
        pods = [*self.view.pods(), *self.others.values()]
        self.view.clear()
        self.others.clear()
        for pod in pods:
            if self._admits(pod):
                self.view.change(None, pod)
            else:
                self.others[pod.uid] = pod
                self.edited.pop(pod.uid, None)
        return {pod.uid for pod in self.view.pods()} != before

    def _admits(self, pod: Pod) -> bool:
        if self._plan is None or pod.parent:
            return False
        member = self._plan.named(pod.name, pod.rank, pod.epoch, pod.attempt)
        return member is not None and (member.group, member.job, member.pod) == (pod.group, pod.job, pod.index)


def _place(pod: Pod) -> tuple[int, int, int, str, int, int]:
    return pod.rank, pod.epoch, pod.attempt, pod.group, pod.job, pod.index
