"""Where container output comes from: a node agent supplies it, the server only serves it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol


class PodLogs(Protocol):
    """The output of containers. An implementation raises FileNotFoundError where a container has none."""

    def read(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        previous: bool,
        follow: bool,
        tail: int | None,
        since: float | None,
        timestamps: bool,
    ) -> AsyncIterator[bytes]:
        """Chunks of output; `since` is a wall-clock time in seconds; `follow` goes on until the container has ended."""
        ...
