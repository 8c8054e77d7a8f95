"""The channel to one coordinator, and how it is set up."""

import grpc
import grpc.aio

from muster.watchers.probes.jax.port_check import Address
from muster.watchers.probes.jax.rpc import NoAnswer

MAX_ANSWER = 4 * 1024 * 1024
"""Bytes: 16,384 ranks take 0.3 MB; an answer beyond this is refused by gRPC before it is read."""

_FIXED_BYTES = 64 * 1024
_RANK_BYTES = 8 * 1024
"""A rank takes 20 bytes; one that failed its error's text too, and that twice."""

_OPTIONS = (
    ("grpc.enable_http_proxy", 0),  # a proxy in the daemon's environment cannot reach pods
    ("grpc.use_local_subchannel_pool", 1),  # a new channel is a new connection, with its own back-off
    ("grpc.initial_reconnect_backoff_ms", 500),
    ("grpc.min_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 5000),
    ("grpc.max_metadata_size", 64 * 1024),
    ("grpc.per_message_decompression", 0),  # a coordinator never compresses; a hostile one could, a thousandfold
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
    # No keepalive: the coordinator treats pings between calls as abuse and closes the connection (too_many_pings).
)


def most_bytes(expected: int | None) -> int:
    """The largest answer that is read from the coordinator of so many processes (None: of any number)."""
    return MAX_ANSWER if expected is None else min(MAX_ANSWER, _FIXED_BYTES + _RANK_BYTES * expected)


class Channel:
    """A gRPC channel to one coordinator: opened when first used, replaced on `renew`."""

    def __init__(self, address: Address, expected: int | None = None) -> None:
        """`expected` is the number of processes, which bounds the size of an answer."""
        self._options = (*_OPTIONS, ("grpc.max_receive_message_length", most_bytes(expected)))
        self._target = f"ipv6:[{address.host}]:{address.port}" if address.v6 else f"ipv4:{address.host}:{address.port}"
        self._channel: grpc.aio.Channel | None = None
        self.closed = False

    @property
    def connected(self) -> bool:
        """Whether the connection is up. After it was lost, another process may be at its other end."""
        return self._channel is not None and self._channel.get_state() is grpc.ChannelConnectivity.READY

    @property
    def channel(self) -> grpc.aio.Channel:
        """The open channel. Raises `NoAnswer` after `close`."""
        if self.closed:
            raise NoAnswer(grpc.StatusCode.CANCELLED, "the probe is closed")
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(self._target, options=self._options)
        return self._channel

    async def renew(self) -> None:
        """Close the channel, so that the next call connects at once, without the back-off of the last failure."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def close(self) -> None:
        """Close the connection for good and end the calls on it."""
        self.closed = True
        await self.renew()
