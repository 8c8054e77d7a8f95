"""Startup: which members are created now.

A member is created when every gate of its group is open (``state.facts.gates``). The coordinator's own pod never waits
for a gate on the coordinator. ``CoordinatorFirst`` is such a gate: no rank then uses up its registration timeout on a
closed port.

If members run again one by one (``failures.repair``), a member that is missing after the launch is created in its
current attempt: when no older pod of its rank may run, its back-off is over, and the live API has confirmed that.

Before the first create of an epoch the live API is asked once (``ConfirmLaunch``). Pods are created in waves, so that
Muster acts on a failure in the middle of a very large gang before the rest of it exists. (A cancellation, a suspension
and a deletion stop a wave.)
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import filterfalse, islice

from msgspec.structs import replace

from muster.state.facts import admission, gates, presence
from muster.state.facts.context import Context
from muster.state.policies import queueing
from muster.state.policies.failures import repair, restart_reasons
from muster.state.vocabulary.actions import Action, ConfirmLaunch, CreatePods, EnsureClaims, EnsureService
from muster.state.vocabulary.group import Member
from muster.state.vocabulary.record import Record


def track_claims(context: Context) -> Record:
    """Return the record with what is known of a claim: its data are the experiment's, so Muster reports their loss.

    The claim is made before the first pod and found again by each epoch. A deleted one goes, with its data, when the
    last pod is gone (finalizer kubernetes.io/pvc-protection), and the next epoch would begin on an empty volume as if
    nothing had happened. So the record keeps that the claim existed. If it is gone, that is persisted first, with an
    Event and in the message for as long as the experiment runs. Then the claim is made again: nothing brings the data
    back.
    """
    record, facts = context.record, context.view.engine
    claims = context.plan.claims
    if not claims or not any(claim.exclusive for claim in claims):
        return record
    if facts.volume_gone == record.epoch and record.volume_at is not None:
        return replace(record, volume_at=None, volume_lost_at=context.now)
    if record.volume_at is None and facts.claims == record.epoch:
        return replace(record, volume_at=context.now)
    return record


WAVE = 1024
"""Pods: one to three seconds of creates. Between two waves no create is sent until the watch has shown the last pod."""


def launch(context: Context) -> list[Action]:
    """Return what to create, or to confirm before anything is created."""
    plan, epoch, facts = context.plan, context.record.epoch, context.view.engine
    actions: list[Action] = [EnsureService()] if plan.naming.service and not facts.service else []
    together = not (plan.sequential or plan.piecewise)
    there = context.tally.pods >= plan.size or (context.launched and together)
    if there and not actions:
        return []
    if facts.confirmed != epoch:
        return [_confirmation(context)]
    if there:
        return actions
    if presence.unplaced(context):
        return [*actions, _confirmation(context)]
    if (unread := queueing.read_admission(context)) is not None:
        return [*actions, unread]
    missing = _startable(context, _without_pod(context))
    if vanished := presence.vanished(context):  # they may run, or were lost with what their programs had done
        missing = (member for member in missing if member.rank not in vanished)
    if plan.piecewise:
        waiting = repair.held_back(context) | presence.gone(context)  # whether one of these is lost is asked first
        missing = (member for member in missing if member.rank not in waiting)
    if plan.sequential:
        missing = _in_turn(context, missing)
    places = max(0, plan.together - context.tally.working)
    wave = tuple(islice(missing, min(WAVE, places)))
    current = context.tally.attempts
    attempts = tuple((member.rank, current[member.rank]) for member in wave if member.rank in current)
    if asked := tuple(each for each in attempts if (epoch, *each) not in facts.confirmed_attempts):
        return [*actions, _confirmation(context, asked)]
    if wave and _claims_due(context):
        return [*actions, EnsureClaims(epoch)]
    if wave:
        placed, avoided = admission.placement(context), restart_reasons.avoided(context.record)
        actions.append(CreatePods(epoch, wave, placed, attempts, avoided))
    return actions


def _confirmation(context: Context, attempts: tuple[tuple[int, int], ...] = ()) -> ConfirmLaunch:
    """Return the question whether these members, or the first of the epoch, may be created.

    Pods that vanished are asked for by name. A process that has never seen a gang of the experiment complete does not
    know them: another one has launched the epochs before, and each of those only beside no pod of an older one.
    """
    epoch = context.record.epoch
    search = presence.older_unknown(context) and (epoch > 0 or bool(attempts))
    return ConfirmLaunch(
        epoch, attempts, (*presence.older_vanished(context), *presence.unplaced(context)), search=search
    )


def prepare(context: Context) -> list[Action]:
    """Return the creation of claims of a suspended object that others may use, too, as JobSet makes them."""
    shared = any(not each.exclusive for each in context.plan.claims)
    lifecycle = context.plan.lifecycle
    due = shared and lifecycle.suspend and not lifecycle.deleting and _claims_due(context)
    return [EnsureClaims(context.record.epoch)] if due else []


def _claims_due(context: Context) -> bool:
    """Return True if claims must be found before pods: by each leadership, and exclusive ones for each epoch."""
    claims, known = context.plan.claims, context.view.engine.claims
    return bool(claims) and (known < 0 or (known != context.record.epoch and any(each.exclusive for each in claims)))


def _without_pod(context: Context) -> Iterator[Member]:
    """Yield the members without a pod, in rank order. A rank that is done needs none, though its pod may be gone.

    This is the only loop over every rank in a decision. It builds a member only for the ranks it finds: 10,000 ranks
    are then passed over in a fraction of a millisecond.
    """
    tally = context.tally
    ranks: Iterable[int] = filterfalse(tally.members.__contains__, range(context.plan.size))
    for rank in filterfalse(tally.collected.__contains__, ranks) if tally.collected else ranks:
        if member := context.plan.member(rank):
            yield member


def _startable(context: Context, missing: Iterator[Member]) -> Iterator[Member]:
    """Yield the members without a pod whose group's gates are open."""
    coordinator = context.plan.coordinator.rank if context.plan.coordinator else None
    waiting = {group.name: gates.closed(context, group) for group in context.plan.groups if group.gates}
    for member in missing:
        shut = waiting.get(member.group, ())
        if not shut or (member.rank == coordinator and not any(gate.group for gate in shut)):
            yield member


def _in_turn(context: Context, missing: Iterator[Member]) -> Iterator[Member]:
    """Yield the members without a pod whose job has a free place (JobSet's ``parallelism``)."""
    places = {group.name: group.parallelism or group.completions for group in context.plan.groups}
    taken: Counter[tuple[str, int]] = Counter()
    for member in missing:
        job = (member.group, member.job)
        if context.tally.of_job(*job).working + taken[job] < places[member.group]:
            taken[job] += 1
            yield member
