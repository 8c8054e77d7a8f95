"""Whether and when a container is restarted: restart policy and CrashLoopBackOff.

The rules are those of pkg/kubelet/container/helpers.go and client-go/util/flowcontrol/backoff.go.
The first restart is immediate, the second after 10 s; each later delay is twice the one before, up to five minutes.
After a run of ten minutes the delays start again.
"""

from muster.kube.backoff import Backoff

INITIAL = 10.0
LONGEST = 300.0
RESET_AFTER = 600.0


def restarts(policy: str, exit_code: int) -> bool:
    """Whether a restartPolicy restarts a container that has exited."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


class RestartDelays:
    """The restart delays of one container, in seconds."""

    def __init__(self, initial: float = INITIAL) -> None:
        self._backoff = Backoff(initial, LONGEST)
        self._restarted = False

    def after(self, ran_for: float) -> float:
        """The delay after a run of `ran_for` seconds."""
        if not self._restarted or ran_for >= RESET_AFTER:
            self._restarted = True
            self._backoff.reset()
            return 0.0
        return self._backoff.delay()
