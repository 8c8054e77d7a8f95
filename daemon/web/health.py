"""Liveness and readiness of the daemon: the answers of ``/livez`` and ``/readyz``."""

from collections.abc import Callable, Mapping

from muster.daemon.informers import Informers
from muster.daemon.loop_lag import LoopLagMonitor

LIVE_LAG = 30.0
"""Seconds without a turn of the event loop after which the process must be restarted."""


class DaemonHealth:
    """Reads the informers and the loop lag; ``monotonic`` is the reflectors' clock."""

    def __init__(self, caches: Informers, loop_lag: LoopLagMonitor, monotonic: Callable[[], float]) -> None:
        self._caches = caches
        self._loop_lag = loop_lag
        self._monotonic = monotonic

    def dead(self) -> Mapping[str, str]:
        """Problems that need a restart of the process."""
        lag = self._loop_lag.lag
        return {"event-loop": f"it has not turned for {lag:.0f} s"} if lag >= LIVE_LAG else {}

    def unready(self) -> Mapping[str, str]:
        """Problems that keep the daemon from deciding: watches without their first list, and silent watches."""
        unsynced = {
            f"watch {name}": "the first list is not complete"
            for name, reflector in self._caches.reflectors.items()
            if not reflector.synced
        }
        stale = self._caches.stale(self._monotonic())
        return unsynced | {f"watch {name}": f"silent for {seconds:.0f} s" for name, seconds in stale}
