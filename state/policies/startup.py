"""Startup: which members are created now.

``AllAtOnce`` creates the gang. ``CoordinatorFirst`` creates the coordinator alone and opens the gate for the others
when it serves (where nothing can be probed: when its pod is ready), so that no rank burns its registration timeout
on a closed port.

Before the first create of an epoch the live API is asked once (``ConfirmLaunch``); creates go out in waves, so that
a failure in the middle of a very large gang is acted upon before the rest of it exists.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import filterfalse, islice

from muster.state.actions import Action, ConfirmLaunch, CreatePods, EnsureService
from muster.state.context import Case
from muster.state.plan import Member, ProbeKind, StartupOrder

WAVE = 256


def launch(case: Case) -> list[Action]:
    """What must be created, or confirmed before anything is."""
    epoch = case.record.epoch
    actions: list[Action] = [] if case.view.service else [EnsureService()]
    there = case.tally.pods >= case.plan.size or (case.launched and not case.plan.sequential)
    if there and not actions:
        return []
    if case.view.confirmed != epoch:
        return [ConfirmLaunch(epoch)]
    if there:
        return actions
    absent = _absent(case)
    if not gate_open(case):
        coordinator = case.plan.coordinator
        absent = (member for member in absent if coordinator and member.rank == coordinator.rank)
    if case.plan.sequential:
        absent = _in_turn(case, absent)
    places = max(0, case.plan.together - case.tally.working)
    if wave := tuple(islice(absent, min(WAVE, places))):
        actions.append(CreatePods(epoch, wave))
    return actions


def _absent(case: Case) -> Iterator[Member]:
    """The members without a pod, in rank order. The one look at every rank that a decision takes, so it builds a member
    only of those it finds: 10,000 ranks are then passed over in a fraction of a millisecond."""
    for rank in filterfalse(case.tally.members.__contains__, range(case.plan.size)):
        if member := case.plan.member(rank):
            yield member


def _in_turn(case: Case, absent: Iterator[Member]) -> Iterator[Member]:
    """Of the absent members those whose job has a free place (JobSet's ``parallelism``)."""
    taken = Counter(case.tally.jobs)
    places = {group.name: group.parallelism or group.completions for group in case.plan.groups}
    for member in absent:
        job = (member.group, member.job)
        if taken[job] < places[member.group]:
            taken[job] += 1
            yield member


def gate_open(case: Case) -> bool:
    """Members other than the coordinator may start."""
    coordinator = case.plan.coordinator
    if coordinator is None or case.plan.startup is StartupOrder.ALL_AT_ONCE:
        return True
    if coordinator.probe is not ProbeKind.NONE:
        return case.probe is not None and case.probe.served
    pod = case.tally.members.get(coordinator.rank)
    return pod is not None and pod.ready
