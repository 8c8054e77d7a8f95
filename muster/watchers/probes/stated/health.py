"""One question to gRPC's health service: does the whole server serve? (grpc/grpc doc/health-checking.md)."""

import grpc
import grpc.aio

from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.jax.channel import Channel
from muster.watchers.probes.jax.port_check import Address, PortState
from muster.watchers.probes.jax.protobuf import Malformed, fields

CHECK = "/grpc.health.v1.Health/Check"
WHOLE_SERVER = b""
"""A HealthCheckRequest without the name of a service."""
SERVING = 1
NAMES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
"""HealthCheckResponse.ServingStatus."""
NO_CONNECTION = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


class Health:
    """Asks over one channel, which opens with the first question."""

    def __init__(self, address: Address) -> None:
        self._channel = Channel(address, expected=1)

    async def check(self, deadline: float) -> PortState | None:
        """What the service says; None where no gRPC server answers, and the port has to say why."""
        call = self._channel.channel.unary_unary(CHECK, request_serializer=None, response_deserializer=None)
        try:
            answer: bytes = await call(WHOLE_SERVER, timeout=deadline)
        except grpc.aio.AioRpcError as error:
            await self._channel.renew()
            if error.code() in NO_CONNECTION:
                return None
            return PortState(CoordinatorState.UNHEALTHY, f"{CHECK}: {error.code().name}: {error.details() or ''}")
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
