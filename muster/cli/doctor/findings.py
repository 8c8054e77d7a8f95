"""Result of a check, in words, and the next step."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. ``next`` is the next step; it is empty if nothing needs to be done."""

    area: str
    check: str
    state: State
    found: str
    next: str = ""
