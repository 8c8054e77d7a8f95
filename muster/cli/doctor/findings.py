"""What a check found, in words, and what to do next."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. ``next`` says what to do; it is empty where nothing needs to be done."""

    area: str
    check: str
    state: State
    found: str
    next: str = ""
