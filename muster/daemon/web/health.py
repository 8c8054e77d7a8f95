"""Liveness and readiness of the daemon: the answers of ``/livez`` and ``/readyz``, and a listener for them alone.

The kubelet restarts a container whose ``/livez`` it cannot reach. So its probes go to a port of their own, which no
reader of pages or metrics uses, and whose connections are closed after one answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import web

from muster.api.values.printable import MESSAGE, printable
from muster.daemon.clocks import LoopLagMonitor
from muster.daemon.informers import Informers
from muster.daemon.web.connections import Limits, Listener
from muster.kube.instrumented import Denials
from muster.kube.leaderelection.elector import Elector
from muster.kube.listwatch.reflector import Reflector

BLIND = 15.0
"""Seconds without an open watch after which the daemon is not ready. A restarting API server is back sooner."""

LIVE_LAG = 30.0
"""Seconds without a turn of the event loop after which the process must be restarted."""

PROBES = Limits(connections=64, per_peer=16, idle=5.0, answer=5.0)
"""The limits of the listener for the kubelet."""


class Health(Protocol):
    """The daemon's own health: a mapping of parts to problems, empty when it is healthy."""

    def dead(self) -> Mapping[str, str]:
        """Return the problems that need a restart of the process."""

    def unready(self) -> Mapping[str, str]:
        """Return the problems that keep the daemon from deciding: watches, rights, the Lease."""

    def role(self) -> str:
        """Return whether this daemon leads or is a standby, for people; empty without an election."""


@dataclass(eq=False)
class DaemonHealth:
    """The daemon's health, from the informers, the denied requests, the election and the loop lag.

    A daemon is not ready, and shows no experiment, before each of its caches has had its first list.
    """

    caches: Informers
    denials: Denials
    elector: Elector | None
    """None without an election."""
    loop_lag: LoopLagMonitor
    monotonic: Callable[[], float]
    """The reflectors' clock."""

    def dead(self) -> Mapping[str, str]:
        """Return problems that need a restart of the process."""
        lag = self.loop_lag.lag
        return {"event-loop": f"it has not run for {lag:.0f} s"} if lag >= LIVE_LAG else {}

    def unready(self) -> Mapping[str, str]:
        """Return problems that keep the daemon from deciding, or a standby from taking over."""
        problems = {f"requests to {verb} {resource}": text for (verb, resource), text in self.denials.lasting()}
        if self.elector is not None and not self.elector.leading and self.elector.problem:
            problems["lease"] = f"cannot be read or renewed: {self.elector.problem}"
        for name, reflector in self.caches.watched():
            if problem := self._watch(reflector):
                problems[f"watch {name}"] = problem
        return problems

    def role(self) -> str:
        """Return whether this daemon leads or is a standby, for people; empty without an election."""
        if self.elector is None:
            return ""
        if self.elector.leading:
            return f"leading as {self.elector.identity}"
        holder = self.elector.holder
        if self.elector.waits:
            who = f"it has created the Lease, and leads {self.elector.terms.duration:g} s after that"
        elif holder == self.elector.identity:
            who = "the Lease still names this daemon, which could not renew it in time"
        elif self.elector.problem and holder:
            who = f"{holder} led when the Lease was last read"
        else:
            who = f"{holder or 'no daemon'} leads"
        return f"standing by; {who}; watched runs and incidents are known to the leader alone"

    def _watch(self, reflector: Reflector[Any]) -> str:
        """Return why the cache of that reflector does not follow the API server; empty if it does."""
        now, failing = self.monotonic(), reflector.failing
        if failing is not None and (failing.denied or now - failing.since >= BLIND):
            return f"not open for {now - failing.since:.0f} s: {failing.problem}"
        if not reflector.feed.synced:
            return "the first list is not complete"
        silence = reflector.staleness(now)
        return f"silent for {silence:.0f} s" if silence > 2 * reflector.settings.silence else ""


def probe_answer(path: str, health: Health) -> web.Response | None:
    """Return the answer to ``/livez`` or ``/readyz``; None for any other path."""
    match path:
        case "/livez":
            return _condition(health.dead())
        case "/readyz":
            return _condition(health.unready(), health.role())
    return None


class HealthServer(Listener):
    """The server that answers the kubelet's probes and nothing else."""

    def __init__(self, health: Health, host: str, port: int, limits: Limits = PROBES) -> None:
        super().__init__(self._probe, host, port, limits)
        self._health = health

    async def _probe(self, request: web.BaseRequest) -> web.Response:
        response = probe_answer(request.path, self._health)
        if response is None or request.method not in ("GET", "HEAD"):
            response = web.Response(status=404, text="GET /livez or /readyz; nothing else is served on this port.\n")
        response.force_close()
        return response


def _condition(problems: Mapping[str, str], role: str = "") -> web.Response:
    if not problems:
        return web.Response(text=f"ok: {role}\n" if role else "ok\n")
    lines = [
        *(f"{part}: {printable(problem, MESSAGE)}" for part, problem in problems.items()),
        *([role] if role else []),
    ]
    return web.Response(text="\n".join((*lines, "")), status=503)
