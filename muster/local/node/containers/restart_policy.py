"""Whether and when a container is started again.

The rules are those of pkg/kubelet/container/helpers.go and client-go/util/flowcontrol/backoff.go.
The first restart is immediate, the next waits 10 s, and each wait is twice the one before, up to five minutes. A
container that ran for ten minutes starts from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass

INITIAL = 10.0
LONGEST = 300.0
RESET_AFTER = 600.0


def restarts(policy: str, exit_code: int) -> bool:
    """What a pod's restartPolicy says to an exit."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


@dataclass(slots=True)
class BackOff:
    """One container's waits, in seconds."""

    initial: float = INITIAL
    longest: float = LONGEST
    _last: float = -1.0

    def after(self, ran_for: float) -> float:
        """The wait after a run of `ran_for` seconds that ended."""
        if self._last < 0 or ran_for >= RESET_AFTER:
            self._last = 0.0
            return 0.0
        self._last = min(max(self.initial, self._last * 2), self.longest)
        return self._last
