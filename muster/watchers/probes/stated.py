"""The prober of a coordinator with only a known kind, port and path.

It asks as a kubelet's probe does: ``tcp`` connects, ``http`` wants a status from 200 to 399, ``grpc`` the answer
SERVING of gRPC's health service. So it learns that the coordinator serves, and nothing about the other members: they
have arrived when their pods are ready. The address is the pod's own; no redirect is followed and no name is looked up.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from time import monotonic

from muster.api.values.printable import printable
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.vocabulary.group import ProbeKind
from muster.watchers.probes.bounded.channel import Channel
from muster.watchers.probes.bounded.connection import Address, PortState
from muster.watchers.probes.bounded.grpc import NoAnswer, Status
from muster.watchers.probes.bounded.http import Asker
from muster.watchers.probes.jax.port_check import check_port, connect
from muster.watchers.probes.jax.rpc import Malformed, fields

MAX_TEXT = 1_000
GOOD = range(200, 400)
"""Statuses of an HTTP server that serves, as for a kubelet."""

CHECK = "/grpc.health.v1.Health/Check"
WHOLE_SERVER = b""
"""A HealthCheckRequest without the name of a service."""
SERVING = 1
NAMES: Mapping[object, str] = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
"""HealthCheckResponse.ServingStatus."""
NO_CONNECTION = (Status.UNAVAILABLE, Status.DEADLINE_EXCEEDED)


class StatedProbe:
    """The probe of the coordinator at ``address`` ("ip:port"). Raises ValueError for an invalid address."""

    def __init__(
        self, address: str, *, kind: ProbeKind, path: str, clock: Callable[[], float], deadline: float = 2.0
    ) -> None:
        self._address, self._kind, self._path = Address.parse(address), kind, path or "/"
        self._clock, self._deadline = clock, deadline
        self._http = Asker(self._address.host, token="", deadline=deadline)
        self._channel = Channel(self._address, expected=1)
        ask: dict[ProbeKind, Callable[[], Awaitable[PortState]]] = {
            ProbeKind.TCP: partial(connect, self._address, deadline),
            ProbeKind.HTTP: self._by_http,
            ProbeKind.GRPC: self._by_grpc,
        }
        self._ask = ask[kind]

    async def snapshot(self) -> RollAnswer:
        """Ask the coordinator once. Raises nothing, whatever the network or the other side does."""
        began = monotonic()
        port = await self._ask()
        return RollAnswer(
            at=self._clock(),
            coordinator=port.state,
            latency=monotonic() - began,
            detail=printable(port.detail, MAX_TEXT),
            states=(RankState.ARRIVED,) if port.state.serving else (),
            partial=f"its probe ({self._kind}) shows only whether the coordinator serves",
            protocol=str(self._kind),
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()

    async def _by_http(self) -> PortState:
        reply = await self._http.get(self._address.port, self._path, most=0)
        if not reply.status:
            return PortState(reply.state, reply.detail)
        state = CoordinatorState.SERVING if reply.status in GOOD else CoordinatorState.UNHEALTHY
        return PortState(state, f"GET {self._path}: {reply.status}")

    async def _by_grpc(self) -> PortState:
        """Ask gRPC's health service for the whole server (grpc/grpc doc/health-checking.md)."""
        try:
            answer = await self._channel.unary(CHECK, WHOLE_SERVER, self._deadline)
        except NoAnswer as error:
            await self._channel.renew()
            if error.excess:
                return PortState(CoordinatorState.OTHER_PROTOCOL, error.text)
            if error.code in NO_CONNECTION:
                port = await check_port(self._address, self._deadline)
                detail = f"speaks HTTP/2, but {CHECK} got no answer: {error.code.name}: {error.text}"
                return PortState(CoordinatorState.TIMEOUT, detail) if port.state.serving else port
            return PortState(CoordinatorState.UNHEALTHY, f"{CHECK}: {error.code.name}: {error.text}")
        try:
            status = next((value for number, value in fields(answer) if number == 1), 0)
        except Malformed as error:
            return PortState(CoordinatorState.OTHER_PROTOCOL, f"{CHECK}: {error}")
        state = CoordinatorState.SERVING if status == SERVING else CoordinatorState.UNHEALTHY
        return PortState(state, f"{CHECK}: {NAMES.get(status, 'another status')}")
