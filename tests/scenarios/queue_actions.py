"""What happens to the queue that experiments wait in."""

from dataclasses import dataclass
from enum import StrEnum


class QueueDoes(StrEnum):
    """What the administrator of the queue, or another user of it, does."""

    QUOTA = "quota"
    STOP = "stop"
    START = "start"
    GO_DOWN = "go-down"
    COME_UP = "come-up"
    UNINSTALL = "uninstall"
    INSTALL = "install"
    DEACTIVATE = "deactivate"
    ACTIVATE = "activate"
    SUBMIT = "submit"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class QueueAction:
    """At ``second`` this happens."""

    second: float
    does: QueueDoes
    quota: float = 0.0
    """The new quota in CPUs, of ``QUOTA``."""
    from_gang: bool = False
    """It takes the quota back from a gang: it waits until one runs, which faults may delay; what follows waits too."""
