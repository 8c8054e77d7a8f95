"""The evidence of an epoch: what was known about it when a verdict ended it without success.

It is taken from the view that the verdict was reached from, before the first pod is stopped, and is persisted with the
verdict in one write. A successful end needs none.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from muster.api.causes import MAX_EPOCHS, MAX_FINDINGS, MAX_STACKS, RANGES, EpochEvidence, FindingThen, StackThen
from muster.api.places import NOTICE
from muster.api.values.rank_ranges import to_ranges
from muster.state.facts import hang
from muster.state.facts.context import Context
from muster.state.facts.diagnosis import hangs
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.facts.sentences import sentence
from muster.state.policies.rendezvous import Assembly
from muster.state.summary.status import of_progress, summarize
from muster.state.view.places import PlaceGroup, Places
from muster.state.vocabulary.record import Phase, Record


def kept(seen: Context, assembly: Assembly, after: Record) -> Record:
    """Return ``after``, the record after a verdict, with the evidence of the epoch that it ends, if it ends one.

    ``seen`` is the context before the verdict. An epoch that has not begun has no evidence.
    """
    ended = after.epoch != seen.record.epoch or after.phase is Phase.FAILED
    if not ended or seen.record.epoch_at is None or seen.record.phase in (Phase.RESTARTING, Phase.QUEUED):
        return after
    return replace(after, evidence=(*after.evidence, taken(seen, assembly, after))[-MAX_EPOCHS:])


def taken(seen: Context, assembly: Assembly, after: Record) -> EpochEvidence:
    """Return what is known about the epoch of ``seen``."""
    before, view = seen.record, seen.view
    now = summarize(seen, assembly)
    stuck = now.called_stuck or before.called_stuck
    progress, seats = view.progress_of(before.epoch), view.places_of(before.epoch)
    waits = hang.by_collectives(seen)
    cause = after.cause if after.cause is not before.cause else None
    failed = after.phase is Phase.FAILED
    known = now.known or before.known
    return EpochEvidence(
        epoch=before.epoch,
        at=seen.now,
        phase=before.phase,
        next=after.phase,
        reason=after.reason if failed else cause.reason if cause else "",
        how=after.message if failed else sentence(cause) if cause else "",
        began_at=before.epoch_at,
        waited_for=now.message,
        stuck=stuck.reason if stuck else "",
        stuck_at=stuck.reason_since if stuck else None,
        stuck_by=stuck.message if stuck else "",
        known=known.evidence if known else "",
        roll=now.roll or before.roll,
        steps=of_progress(progress, seen.now) if progress else "",
        collectives=hangs.sentence(seen, waits) if waits else "",
        places=hangs.where(seen),
        findings=tuple(map(_then, diagnose(seen)[:MAX_FINDINGS])),
        stacks=tuple(stacks_of(seats, seen.plan.size)) if seats and seats.stacks else (),
    )


def stacks_of(seats: Places, size: int) -> Iterator[StackThen]:
    """Return what each of ``size`` ranks did, by equal stacks: those of the rarest place first, and there the rarest.

    Beyond ``MAX_STACKS`` those before the last share a row. A rank without a stack has a row with the reason.
    """
    reports = {rank: heard.report for rank, heard in seats.ranks.items()}
    read = {(reports[rank].place, reports[rank].stack): calls for rank, calls in seats.stacks.items()}
    rows: list[tuple[int, int, list[int], str]] = []
    for group in seats.groups:
        here, alike = len(group.ranks), defaultdict[str | None, list[int]](list)
        for rank in group.ranks:
            wrote = group.answers and reports[rank].stood >= NOTICE  # before, no stack is written
            alike[reports[rank].stack if wrote else None].append(rank)
        rows += [(here, len(ranks), ranks, _calls(group, stack, read)) for stack, ranks in alike.items()]
    if unheard := [rank for rank in range(size) if rank not in reports]:
        rows.append((len(unheard), len(unheard), unheard, "no stack (where it is was not heard)"))
    rows.sort()
    listed = [(ranks, calls) for _, _, ranks, calls in rows]
    if len(listed) > MAX_STACKS:
        shared = sorted(chain.from_iterable(ranks for ranks, _ in listed[MAX_STACKS - 2 : -1]))
        listed[MAX_STACKS - 2 : -1] = [(shared, "")]
    return (StackThen(ranks[0], calls, to_ranges(ranks, RANGES), len(ranks)) for ranks, calls in listed)


def _calls(group: PlaceGroup, stack: str | None, read: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """Return the stack of ranks of this group, as one of them wrote it, else why there is none."""
    if not group.answers:
        return hangs.group_at(group)
    if stack is None:
        return f"no stack (had been {group.place} for less than {NOTICE:.0f} s)"
    return ", ".join(read.get((group.place, stack), ())) or f"stack not read ({group.place})"


def _then(found: Finding) -> FindingThen:
    return FindingThen(
        cause=found.cause.value,
        sentence=found.sentence,
        evidence=found.evidence,
        ranks=to_ranges(found.ranks, RANGES),
        count=found.count,
        node=found.node,
    )
