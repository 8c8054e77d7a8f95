"""What a program can wait for: a condition, a phase or the deletion, in the words of ``kubectl wait``."""

from dataclasses import dataclass
from typing import Final

from muster.api.errors import MusterError
from muster.api.manifest.problems import nearest
from muster.api.status import ConditionType, Phase
from muster.client.snapshot import Snapshot

CONDITIONS: Final = tuple(kind.value for kind in ConditionType)
"""The conditions of this version; a newer daemon may have more."""
PHASES: Final = tuple(phase.value for phase in Phase if phase.value not in CONDITIONS)
"""The phases that are no conditions."""


class UnknownCondition(MusterError, ValueError):
    """The words name no condition and no phase of an experiment."""


@dataclass(frozen=True, slots=True)
class Until:
    """``condition`` has ``status``; or it is in ``phase``; or, with ``deleted``, the object is gone."""

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
        """Whether this holds for an experiment that exists. A condition never set is not False."""
        if self.deleted:
            return False
        if self.phase:
            return seen.phase == self.phase
        if self.condition == "Finished" and self.status == "True" and seen.finished:
            return True
        found = seen.condition(self.condition)
        return found is not None and found.status_text == self.status

    def hopeless(self, seen: Snapshot) -> bool:
        """Whether it can no longer hold: a finished experiment does not change."""
        return seen.finished and not self.deleted and not self.met(seen)

    def __str__(self) -> str:
        return "its deletion" if self.deleted else self.phase or f"{self.condition}={self.status}"
