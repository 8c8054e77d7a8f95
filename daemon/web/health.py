"""Whether the daemon lives and sees: what ``/livez`` and ``/readyz`` answer."""

from collections.abc import Callable, Mapping

from muster.daemon.informers import Informers
from muster.daemon.loop_lag import LoopLagMonitor

LIVE_LAG = 30.0
"""Seconds without a turn of the event loop after which only a restart helps."""


class DaemonHealth:
    """Reads the caches and the heartbeat; ``monotonic`` is the reflectors' clock."""

    def __init__(self, caches: Informers, heartbeat: LoopLagMonitor, monotonic: Callable[[], float]) -> None:
        self._caches = caches
        self._heartbeat = heartbeat
        self._monotonic = monotonic

    def dead(self) -> Mapping[str, str]:
        """What only a restart of the process can cure."""
        lag = self._heartbeat.lag
        return {"event-loop": f"it has not turned for {lag:.0f} s"} if lag >= LIVE_LAG else {}

    def unready(self) -> Mapping[str, str]:
        """What keeps the daemon from deciding: watches without their first list, and watches that are silent."""
        unsynced = {
            f"watch {name}": "the first list is not complete"
            for name, reflector in self._caches.reflectors.items()
            if not reflector.synced
        }
        stale = self._caches.stale(self._monotonic())
        return unsynced | {f"watch {name}": f"silent for {seconds:.0f} s" for name, seconds in stale}
