"""Whether and when a container is restarted: restart policy and CrashLoopBackOff.

The rules are those of pkg/kubelet/container/helpers.go and client-go/util/flowcontrol/backoff.go.
The first restart is immediate, the second after 10 s; each later delay is twice the one before, up to five minutes.
After a run of ten minutes the delays start again.
"""

from __future__ import annotations

from dataclasses import dataclass

INITIAL = 10.0
LONGEST = 300.0
RESET_AFTER = 600.0


def restarts(policy: str, exit_code: int) -> bool:
    """Whether a restartPolicy restarts a container that has exited."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


@dataclass(slots=True)
class BackOff:
    """The restart delays of one container, in seconds."""

    initial: float = INITIAL
    longest: float = LONGEST
    _last: float = -1.0

    def after(self, ran_for: float) -> float:
        """The delay after a run of `ran_for` seconds."""
        if self._last < 0 or ran_for >= RESET_AFTER:
            self._last = 0.0
            return 0.0
        self._last = min(max(self.initial, self._last * 2), self.longest)
        return self._last
