"""Wait for a condition, a phase or the deletion of an experiment, in the words of ``kubectl wait``, by watching it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Protocol

from muster.api.conditions import ConditionType
from muster.api.errors import MusterError
from muster.api.manifest.problems import nearest
from muster.api.status import Phase
from muster.client.errors import NoSuchExperiment, Vanished, WaitTimeout
from muster.client.snapshot import ExperimentChange, Snapshot
from muster.kube.cancellation import cancelling

CONDITIONS: Final = tuple(kind.value for kind in ConditionType)
"""The conditions of this version; a newer daemon may have more."""
PHASES: Final = tuple(phase.value for phase in Phase if phase.value not in CONDITIONS)
"""The phases that are no conditions."""


class UnknownCondition(MusterError, ValueError):
    """The words name no condition and no phase of an experiment."""


@dataclass(frozen=True, slots=True)
class Until:
    """The goal of a wait: ``condition`` has ``status``; it is in ``phase``; or, with ``deleted``, it is gone."""

    condition: str = "Finished"
    status: str = "True"
    deleted: bool = False
    phase: str = ""

    @classmethod
    def parse(cls, words: str) -> "Until":
        """Read ``Assembled``, ``condition=Assembled``, ``Stuck=False``, ``Running``, ``delete`` or ``finished``."""
        rest = words.removeprefix("condition=").removeprefix("phase=")
        if rest.lower() in ("delete", "deleted"):
            return cls(deleted=True)
        if phase := next((each for each in PHASES if each.lower() == rest.lower()), ""):
            return cls(phase=phase)
        name, _, status = rest.partition("=")
        known = nearest(name, (*CONDITIONS, *PHASES))
        if known is None or known.lower() != name.lower():
            hint = f"did you mean {known}?" if known else f"these are {', '.join((*CONDITIONS, *PHASES))}"
            raise UnknownCondition(f"{name!r} is not a condition or phase of an experiment; {hint}")
        if status and status.lower() not in ("true", "false", "unknown"):
            raise UnknownCondition(f"a condition is True, False or Unknown, not {status!r}")
        return cls(known, status.capitalize() or "True")

    def met(self, seen: Snapshot) -> bool:
        """Return True if this holds for an experiment that exists. A condition never set is not False."""
        if self.deleted:
            return False
        if self.phase:
            return seen.phase == self.phase
        if self.condition == "Finished" and self.status == "True" and seen.finished:
            return True
        found = seen.condition(self.condition)
        return found is not None and found.status_text == self.status

    def hopeless(self, seen: Snapshot) -> bool:
        """Return True if it can no longer hold: a finished experiment does not change."""
        return seen.finished and not self.deleted and not self.met(seen)

    def __str__(self) -> str:
        return "its deletion" if self.deleted else self.phase or f"{self.condition}={self.status}"


ASK_AGAIN = 30.0
"""Seconds without a change after which the experiment is read, too."""


class Reader(Protocol):
    """Part of ``muster.client.Client`` that a wait needs."""

    async def get(self, name: str, *, namespace: str | None = None) -> Snapshot:
        """Return one experiment. Raises ``NoSuchExperiment``."""
        ...

    def watch(self, name: str, *, namespace: str | None = None) -> AsyncGenerator[ExperimentChange, None]:
        """Yield what exists, then every change."""
        ...


async def wait(reader: Reader, seen: Snapshot, goal: Until, timeout: float | None) -> Snapshot:
    """Return the experiment ``seen`` as soon as ``goal`` holds, or as soon as it no longer can.

    Raises ``WaitTimeout`` after ``timeout`` seconds, ``Vanished`` if it is deleted (unless that is the goal), also
    where another one has its name by then.
    """
    try:
        async with asyncio.timeout(timeout), aclosing(reader.watch(seen.name, namespace=seen.namespace)) as stream:
            while (change := await _next_of(reader, seen, stream)) is not None:
                if change.kind == "DELETED" or change.experiment.uid != seen.uid:
                    break
                seen = change.experiment
                if goal.met(seen) or goal.hopeless(seen):
                    return seen
    except TimeoutError:
        state = seen.message or seen.reason or seen.phase or "musterd has not processed it yet"
        raise WaitTimeout(f"{seen.who}: {goal} did not come within {timeout:g} s; it is: {state}") from None
    if goal.deleted:
        return seen
    raise Vanished(f"{seen.who} was deleted while it was waited for")


async def _next_of(
    reader: Reader, seen: Snapshot, stream: AsyncGenerator[ExperimentChange, None]
) -> ExperimentChange | None:
    """Return the next change; None if the experiment is gone.

    One that was deleted before the watch began makes no change: it is read while none comes.
    """
    change = asyncio.ensure_future(anext(stream))
    try:
        async with cancelling(change):
            while not (await asyncio.wait({change}, timeout=ASK_AGAIN))[0]:
                if (await reader.get(seen.name, namespace=seen.namespace)).uid != seen.uid:
                    return None
            return change.result()
    except NoSuchExperiment:
        return None
