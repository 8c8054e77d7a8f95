"""Explanation of an experiment: what it waits for, with its members and its Events."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from muster.api.errors import ApiError, Forbidden
from muster.client.logs.gang_log import newest
from muster.client.logs.last_lines import LastLine, Tracebacks, read_last_lines, read_tracebacks
from muster.client.member import Member, member_of, read_pods
from muster.client.snapshot import EventSummary, Snapshot, events_of
from muster.kube.resources import ResourceClient
from muster.kube.unstructured import Json

if TYPE_CHECKING:
    from muster.rollcall.document import Detail

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Explanation:
    """An experiment with the members of its latest epoch, by rank, and its Events, oldest first."""

    experiment: Snapshot
    members: tuple[Member, ...]
    events: tuple[EventSummary, ...]
    unreadable: tuple[str, ...] = ()
    """Refusals of the API server, in its words: ``pods is forbidden: …``."""
    members_read: bool = True
    """The pods could be read; without them ``members`` is empty whatever runs."""
    last_lines: tuple[LastLine, ...] = ()
    """Last log line of each rank, if that was asked for and may be read."""
    tracebacks: tuple[Tracebacks, ...] = ()
    """The tracebacks of ranks that run, where the last lines were asked for."""
    pods: tuple[Json, ...] = ()
    """The pods of every epoch as the API server has them."""

    @property
    def waits_for(self) -> str:
        """Return what it waits for, in a sentence; empty if it runs or has finished."""
        if self.experiment.finished or (self.experiment.phase == "Running" and not self.experiment.holds("Stuck")):
            return ""
        if not self.experiment.phase and self.experiment.watched is None:
            unseen = "musterd has not processed it yet: is the daemon running on this cluster?"
            return "" if self.experiment.managed_by else unseen
        return self.experiment.message or self.experiment.reason or self.experiment.phase

    def roll_call(self, now: float) -> Detail | None:
        """Return the document of musterd's page at that wall second, without what only musterd has asked.

        None where the object or its status cannot be understood, or the pods may not be read.
        """
        from muster.client.explaining.roll_call import roll_call  # with the rules of decisions

        return roll_call(self.experiment, self.pods if self.members_read else None, now)


async def explain(
    resources: ResourceClient, experiment: Snapshot, *, last_lines: bool, epoch: int | None = None
) -> Explanation:
    """Read pods, Events and, with ``last_lines``, what each rank logged last. What may not be read is left out."""
    unreadable: list[str] = []
    pods: Sequence[Json] | None
    members: Sequence[Member] | None
    if (watched := experiment.watched) is not None:
        unreadable += watched.unreadable
        pods, members = watched.pods, None if unreadable else watched.members
    else:
        pods = await _readable(read_pods(resources, experiment.namespace, experiment.uid), unreadable)
        wanted = (each for each in map(member_of, pods or ()) if epoch is None or each.epoch == epoch)
        members = None if pods is None else tuple(newest(wanted).values())
    lines: Sequence[LastLine] | None = ()
    printed: Sequence[Tracebacks] = ()
    if last_lines:
        lines = await _readable(read_last_lines(resources, experiment, members or ()), unreadable)
        if lines and not experiment.finished:
            printed = await read_tracebacks(resources, experiment.namespace, members or ())
    events: Sequence[EventSummary] | None = ()
    with suppress(ApiError):  # Events are kept for an hour only; an explanation does without them
        events = await _readable(events_of(resources, experiment), unreadable)
    return Explanation(
        experiment,
        tuple(members or ()),
        tuple(events or ()),
        tuple(unreadable),
        members_read=members is not None,
        last_lines=tuple(lines or ()),
        tracebacks=tuple(printed),
        pods=tuple(pods or ()),
    )


async def _readable(reading: Awaitable[Sequence[T]], unreadable: list[str]) -> Sequence[T] | None:
    """Return what was read; None if the caller may not read it: then the refusal is added to ``unreadable``."""
    try:
        return await reading
    except Forbidden as error:
        unreadable.append(error.message)
        return None
