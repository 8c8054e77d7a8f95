"""Liveness and readiness of the daemon: the answers of ``/livez`` and ``/readyz``, and a listener for them alone.

The kubelet restarts a container whose ``/livez`` it cannot reach. So its probes go to a port of their own, which no
reader of pages or metrics uses, and whose connections are closed after one answer.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from aiohttp import web

from muster.daemon.informers import Informers
from muster.daemon.loop_lag import LoopLagMonitor
from muster.daemon.web.connections import Limits, Listener

LIVE_LAG = 30.0
"""Seconds without a turn of the event loop after which the process must be restarted."""

PROBES = Limits(connections=64, per_peer=16, idle=5.0, answer=5.0)
"""Of the listener for the kubelet."""


class Health(Protocol):
    """The daemon's own health: a mapping of parts to problems, empty when it is healthy."""

    def dead(self) -> Mapping[str, str]:
        """Problems that need a restart of the process."""

    def unready(self) -> Mapping[str, str]:
        """Problems that keep the daemon from deciding: watches that are not synced or are stale."""


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


def probe_answer(path: str, health: Health, leadership: Callable[[], str]) -> web.Response | None:
    """The answer to ``/livez`` or ``/readyz``; None for any other path."""
    match path:
        case "/livez":
            return _condition(health.dead(), "ok")
        case "/readyz":
            return _condition(health.unready(), leadership())
    return None


class HealthServer(Listener):
    """Answers the kubelet's probes and nothing else."""

    def __init__(
        self, health: Health, leadership: Callable[[], str], host: str, port: int, limits: Limits = PROBES
    ) -> None:
        """``leadership`` gives the text of ``/readyz`` for a daemon that is ready."""
        super().__init__(self._probe, host, port, limits)
        self._health = health
        self._leadership = leadership

    async def _probe(self, request: web.BaseRequest) -> web.Response:
        response = probe_answer(request.path, self._health, self._leadership)
        if response is None or request.method not in ("GET", "HEAD"):
            response = web.Response(status=404, text="GET /livez or /readyz; nothing else is served on this port.\n")
        response.force_close()
        return response


def _condition(problems: Mapping[str, str], well: str) -> web.Response:
    if not problems:
        return web.Response(text=f"{well}\n")
    lines = [f"{part}: {problem}\n" for part, problem in problems.items()]
    return web.Response(text="".join(lines), status=503)
