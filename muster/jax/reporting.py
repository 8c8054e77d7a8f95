"""The channel of jax: the key-value store of its coordination service, which Muster reads from outside of the job.

Without an initialized jax.distributed there is no channel. jax is found if the program has imported it.
"""

import sys
from typing import Any, NamedTuple

from muster.api.progress import KEYS
from muster.assist.mounted.place_watch import next_value, place_interval
from muster.reporting.reporter import Latest, value_of

JAX = "jax._src.distributed"
"""The module of jax that holds the client of the coordination service; the same from jax 0.4.35 to 0.12."""


class KeyValueStore(NamedTuple):
    """The key-value store, from this process."""

    client: Any
    rank: int
    processes: int

    @property
    def quiet(self) -> float:
        """See ``Place``."""
        return place_interval(self.processes)

    @property
    def prompt(self) -> bool:
        """See ``Place``."""
        return self.rank == 0

    @property
    def shows_work(self) -> bool:
        """See ``Place``."""
        return False

    def next(self, now: float) -> float:
        """See ``Place``. A place is written at the same time."""
        return next_value(now, self.rank, self.processes)

    def write(self, latest: Latest) -> None:
        """See ``Place``."""
        self.client.key_value_set(f"{KEYS}/{self.rank}", value_of(latest), allow_overwrite=True)


def key_value_store() -> KeyValueStore | None:
    """Return the store of ``jax.distributed``; None if it is not initialized, or jax is not imported."""
    state = getattr(sys.modules.get(JAX), "global_state", None)
    client = getattr(state, "client", None)
    if state is None or client is None:
        return None
    return KeyValueStore(client, state.process_id, state.num_processes or 1)
