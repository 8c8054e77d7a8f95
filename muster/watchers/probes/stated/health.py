"""One question to gRPC's health service: does the whole server serve? (grpc/grpc doc/health-checking.md)."""

from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.bounded.channel import Channel
from muster.watchers.probes.bounded.connection import Address, PortState
from muster.watchers.probes.bounded.grpc import NoAnswer, Status
from muster.watchers.probes.jax.port_check import check_port
from muster.watchers.probes.jax.protobuf import Malformed, fields

CHECK = "/grpc.health.v1.Health/Check"
WHOLE_SERVER = b""
"""A HealthCheckRequest without the name of a service."""
SERVING = 1
NAMES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
"""HealthCheckResponse.ServingStatus."""
NO_CONNECTION = (Status.UNAVAILABLE, Status.DEADLINE_EXCEEDED)


class Health:
    """Asks over one channel, which opens with the first question."""

    def __init__(self, address: Address) -> None:
        self._address, self._channel = address, Channel(address, expected=1)

    async def check(self, deadline: float) -> PortState:
        """What the service says, or the port where no gRPC server answers."""
        try:
            answer = await self._channel.unary(CHECK, WHOLE_SERVER, deadline)
        except NoAnswer as error:
            await self._channel.renew()
            if error.excess:
                return PortState(CoordinatorState.OTHER_PROTOCOL, error.text)
            if error.code in NO_CONNECTION:
                port = await check_port(self._address, deadline)
                said = f"speaks HTTP/2, but {CHECK} got no answer: {error.code.name}: {error.text}"
                return PortState(CoordinatorState.TIMEOUT, said) if port.state.serving else port
            return PortState(CoordinatorState.UNHEALTHY, f"{CHECK}: {error.code.name}: {error.text}")
        try:
            status = next((value for number, value in fields(answer) if number == 1), 0)
        except Malformed as error:
            return PortState(CoordinatorState.OTHER_PROTOCOL, f"{CHECK}: {error}")
        state = CoordinatorState.SERVING if status == SERVING else CoordinatorState.UNHEALTHY
        name = NAMES.get(status, "another status") if isinstance(status, int) else "another status"
        return PortState(state, f"{CHECK}: {name}")

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()
