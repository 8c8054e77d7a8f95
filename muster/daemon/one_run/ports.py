"""Reaches the ports of pods through the API server, with the reader's own right to forward ports.

A node connects to the port from inside the pod, at its loopback address. A port that is refused there may be open at
the pod's own address. So a connection that cannot be opened proves nothing about the program, and the probe's answer is
then ignored (``problem``).
"""

import asyncio
import errno
from collections.abc import Callable
from dataclasses import dataclass, field

from muster.api.errors import ApiError, Forbidden
from muster.api.values.printable import MESSAGE, printable
from muster.kube.cancellation import cancel_and_wait
from muster.kube.execution import NOT_FORWARDED, Sockets, dial
from muster.kube.instrumented import lacks
from muster.watchers.probes.bounded.connection import BUFFER, Address, Streams

REFUSED = "refused"
"""Part of a node's error for a port at which nothing listens (Go: syscall.ECONNREFUSED)."""
ONLY_LOOPBACK = (
    "nothing listens at the pod's loopback address, where a forwarded connection arrives; "
    "the program has not begun to listen, or listens at the pod's IP alone"
)


@dataclass(eq=False)
class Ports:
    """The ports of the pods of one namespace."""

    sockets: Sockets
    namespace: str
    pod_at: Callable[[str], str]
    """Gives the name of the pod that has an IP, if any."""
    forbidden: bool = False
    """True if the reader may not forward ports."""
    problem: str = ""
    """The reason why the last connection could not be tried; empty if it was tried."""
    _carried: set[asyncio.Task[None]] = field(default_factory=set)

    async def dial(self, address: Address) -> Streams:
        """Connect to a port of the pod at that address. Raises OSError, at once after the right was refused."""
        if self.forbidden:
            raise OSError(errno.EACCES, self.problem)
        self.problem = "its port was not forwarded in time"
        pod = self.pod_at(address.host)
        if not pod:
            self.problem = f"no pod of the run has the address {address.host}"
            raise OSError(errno.EHOSTUNREACH, self.problem)
        try:
            streams = await dial(
                self.sockets,
                self.namespace,
                pod,
                address.port,
                limit=BUFFER,
                late=self._failed_late,
                carried_by=self._carried,
            )
        except ApiError as error:
            self.failed(error)
            raise OSError(errno.EHOSTUNREACH, self.problem) from error
        self.problem = ""
        return streams

    def failed(self, error: ApiError) -> None:
        """Keep the reason why a connection was not opened."""
        if isinstance(error, Forbidden):
            self.forbidden = True
            self.problem = lacks(error, "get and create of pods/portforward")
        elif error.reason == NOT_FORWARDED and REFUSED in error.message:
            self.problem = ONLY_LOOPBACK
        else:
            self.problem = _not_forwarded(error)

    def _failed_late(self, error: ApiError) -> None:
        """Keep the error of a connection that counted as open: the probe's answer from its end is then ignored."""
        self.problem = _not_forwarded(error)

    async def close(self) -> None:
        """End all connections, and wait for their ends."""
        await cancel_and_wait(*self._carried)


def _not_forwarded(error: ApiError) -> str:
    return printable(f"its port cannot be forwarded: {error.message}", MESSAGE)
