"""An experiment as a tree: experiment, groups, members, and the line with what it waits for."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from muster.api.gang import Steps, of_restarts_inside
from muster.api.values.durations import count_of
from muster.api.values.printable import printable
from muster.client.explaining.explanation import Explanation
from muster.client.explaining.style import BAD, BUSY, DIM, GOOD, PLAIN, Style, clock_left, left, restarts, since
from muster.client.member import Member
from muster.client.snapshot import Snapshot
from muster.kube.unstructured import items, mapping, text, whole
from muster.rollcall import deleted_by

if TYPE_CHECKING:  # the document of a run that is well is not asked for
    from muster.rollcall.document import Detail

NOT_WATCHED = "a Job needs the label muster.dev/observe, and a part of another run is watched over with that"
GRACE = "the experiment has ended, and the program still has its grace period"
RUNS_ON = "the run has ended, and its pod runs on and holds what it asked for"
SHOWN = 64
"""Members of one group that are shown; those that are not running come first in what is left out."""


def tree(explanation: Explanation, now: float, roll: "Detail | None" = None, style: Style = PLAIN) -> list[str]:
    """Return the lines of the tree. ``roll`` has the faults of members whose pods look well."""
    seen = explanation.experiment
    status = seen.status
    remaining, going, age = clock_left(seen, now), left(status.delete_at, now), since(seen.created, now)
    facts = (
        printable(seen.operator),
        f"epoch {status.epoch_begun}",
        restarts(status.restarts_begun),
        _readiness(explanation) if status.size and not seen.finished else "",
        style.stuck(seen.stuck.reason) if seen.stuck else "",
        remaining and f"{remaining} until its deadline",
        going and f"deleted in {going} by {deleted_by(status.retention)}",
        age and f"{age} old",
    )
    lines = [style.head(f"{seen.namespace}/{seen.name}", seen.phase or "not seen by musterd yet", facts)]
    if seen.managed_by:
        lines.append(f"│ managed by {printable(seen.managed_by)}: Muster leaves it alone here, and shows its status")
    if message := explanation.waits_for or seen.message:
        lines.append(f"│ {printable(message)}")
    if status.steps is not None:
        lines.append(f"│ {steps_text(status.steps, status.epoch_begun, None if seen.finished else now)}")
    lines += [f"│ {note}" for note in _watched(explanation)]
    if status.dashboard and not seen.finished and (where := _dashboard(explanation)):
        lines.append(f"│ dashboard: {where}")
    members = sorted(explanation.members, key=lambda member: (member.group, member.rank))
    sizes, with_pods = sizes_of(seen), {name: list(of) for name, of in groupby(members, lambda member: member.group)}
    groups = sorted({*with_pods, *filter(sizes.get, () if seen.finished or not members else sizes)})
    marks = dict.fromkeys(status.roll.missing if status.roll else (), "missing from the roll")
    marks |= {rank: finding.what for rank, finding in roll.unseen.items()} if roll else {}
    gone = _gone(explanation) if groups else ""
    for name in groups:
        last, found = name == groups[-1] and not gone, with_pods.get(name, ())
        count = _count(found, sizes.get(name, -1), finished=seen.finished)
        lines.append(f"{'└' if last else '├'}── {printable(name) or 'members'}  {count}")
        stem = "    " if last else "│   "
        lines += [stem + line for line in _members(found, marks, seen, style)]
    if gone:
        lines.append(f"└── {gone}")
    if not explanation.members_read:
        lines.append("└── the members may not be read")
    elif seen.managed_by:
        lines.append("└── its members are where its manager runs them")
    elif not groups:
        lines.append("└── no member has a pod")
    return lines + [f"not shown: {printable(why)}" for why in explanation.unreadable]


def steps_text(steps: Steps, epoch: int, now: float | None) -> str:
    """Return ``step 1,840, 9.81 steps/s (read 42s ago)``; with its epoch where another one has begun.

    ``now`` is None after the end: the coordinator ends with the gang, and its last steps can be read no more.
    """
    parts = [f"step {steps.step:,}" if now is not None else f"last step that was read: {steps.step:,}"]
    if steps.per_second:
        parts.append(f"{printable(steps.per_second)} steps/s")
    if steps.restarts:
        parts.append(of_restarts_inside(steps.restarts))
    if steps.epoch != epoch:
        parts.append(f"in epoch {steps.epoch}")
    return ", ".join(parts) + (f" (read {since(steps.at, now)} ago)" if now is not None else "")


def _dashboard(explanation: Explanation) -> str:
    """Return the address that opens from here; of a local cluster the pod's own, elsewhere what makes one.

    Empty while the head has no pod: nothing serves a page.
    """
    seen = explanation.experiment
    head = next((member for member in explanation.members if member.rank == 0), None)
    host, _, port = map(printable, seen.status.dashboard.rpartition(":"))
    if head is not None and head.process is not None and head.ip:
        return f"http://{printable(head.ip)}:{port}"
    if head is None and explanation.members_read:
        return ""
    ip = printable(head.ip) if head is not None else ""
    host = host or (f"[{ip}]" if ":" in ip else ip)
    inside = f"http://{host}:{port} inside the cluster; " if host else ""
    return f"{inside}from here: muster port-forward {printable(seen.name)} {port} -n {printable(seen.namespace)}"


def _gone(explanation: Explanation) -> str:
    """Return the member whose failure ended the run, if its pod is gone: without a program it is deleted."""
    cause, ranks = explanation.experiment.status.cause, {member.rank for member in explanation.members}
    if not explanation.experiment.finished or cause is None or not cause.pod or cause.rank in ranks:
        return ""
    return printable(f"rank {cause.rank}: its pod {cause.pod} no longer exists")


def _watched(explanation: Explanation) -> list[str]:
    """Return the source of these lines, for the reader of a watched run."""
    seen = explanation.experiment.watched
    if seen is None:
        return []
    lines = ["Watched, not run, by Muster"]
    if seen.roll:
        run = printable(f"{explanation.experiment.name} -n {explanation.experiment.namespace}")
        lines[0] += f"; muster diagnose {run} asks its coordinator who has arrived"
    if not seen.wanted:
        lines.append(f"Not watched by musterd: {NOT_WATCHED}")
    return lines


def _readiness(explanation: Explanation) -> str:
    """Return ``3/4 arrived``; without a roll ``3/4 ready``, by the pods that are shown below it: they are newer."""
    status = explanation.experiment.status
    if status.roll is not None:
        return f"{status.readiness} arrived"
    here = f"{sum(map(_here, explanation.members))}/{status.size}" if explanation.members else status.readiness
    return f"{here} ready"


def sizes_of(seen: Snapshot) -> dict[str, int]:
    """Return the number of members of each group; empty where it does not follow from the object and its status.

    The models of manifests, which know it always, take longer to import than `muster get` may take.
    """
    if seen.watched is not None:
        return {each.name: each.size for each in seen.watched.plan.groups} if seen.watched.plan is not None else {}
    types = mapping(mapping(seen.raw.get("spec")).get("types"))
    asked = ((name, mapping(each)) for name, each in types.items())
    sizes = {name: whole(each, "count", 1) * whole(each, "completions", 1) for name, each in asked}
    if "Head" in types:
        sizes = {"head": 1, "submitter": 1}
        sizes |= {text(each, "name"): whole(each, "count") for each in items(types.get("Workers"))}
    sizes |= {each.name: each.jobs * each.pods for each in seen.status.groups}
    if len(sizes) == 1:
        sizes = dict.fromkeys(sizes, seen.status.size)
    return sizes if sum(sizes.values()) == seen.status.size else {}  # a slice of TPUs has more members than its count


def _count(found: Sequence[Member], size: int, *, finished: bool) -> str:
    """Return ``3/8 ready``: of the members, or of the pods where the size is not known. At the end none is ready."""
    pods = count_of(len(found), "pod")
    if finished:
        return count_of(size, "member") if size == len(found) else pods
    here = sum(map(_here, found))
    return f"{here}/{size} ready" if size >= len(found) else f"{here} of {pods} ready"


def _here(member: Member) -> bool:
    return member.ready or member.phase == "Succeeded"


def _members(found: Sequence[Member], marks: Mapping[int, str], seen: Snapshot, style: Style) -> list[str]:
    shown, rest = found[:SHOWN], found[SHOWN:]
    pods = [printable(member.pod) for member in shown]
    size = max(map(len, pods), default=0)
    lines = []
    for member, pod in zip(shown, pods, strict=True):
        end = "└" if member is shown[-1] and not rest else "├"
        lines.append(f"{end}── {member.rank:>3}  {pod:<{size}}  {_state(member, marks, seen, style)}")
    if rest:
        away = sum(not member.running for member in rest)
        lines.append(f"└── and {len(rest)} more, {away} of them not running")
    return lines


def _state(member: Member, marks: Mapping[int, str], seen: Snapshot, style: Style) -> str:
    theirs = seen.watched is not None  # another controller decides which of its pods are deleted
    if seen.finished and member.running:
        word, why = (printable(member.state), RUNS_ON) if theirs else ("Stopping", GRACE)
        parts = [style.paint(word, DIM), style.paint(f"on {printable(member.node)}", DIM)]
        return "  ".join(parts if theirs and member.terminating else [*parts, why])
    stopped = _stopped(member, seen)
    colour = GOOD if _here(member) else DIM if stopped else BUSY
    if (member.phase == "Failed" or member.exit_code) and not stopped:
        colour = BAD
    parts = [style.paint("Stopped" if stopped else printable(member.state), colour)]
    if mark := marks.get(member.rank):
        parts.append(style.paint(printable(mark), BAD))
    if member.node:
        parts.append(style.paint(f"on {printable(member.node)}", DIM))
    if stopped:
        parts.append(f"after the {'run' if theirs else 'experiment'}'s end, exit code {member.exit_code}")
    elif member.why:
        parts.append(printable(member.why))
    return "  ".join(parts)


def _stopped(member: Member, seen: Snapshot) -> bool:
    """Return True if it failed in a second after the experiment's end, as Muster had asked: no fault of its own."""
    end = seen.status.finished_at
    return bool(member.exit_code and member.ended_at and seen.finished and end and member.ended_at > end)
