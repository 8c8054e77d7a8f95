"""The channel of PyTorch: the TCPStore of the default process group, which Muster reads from outside of the job.

A report is a SET of one small key by the process's own client of the store, over its open connection: no new
connection, for which the store would look up a name. A client serves one call at a time, so a report waits while the
program itself waits for the store, and then no step is made either.

The key is that of the member, which is a pod: torchrun and the like start several processes in each, and the daemon
takes them together. The variables are those of the operator pytorch, of torchrun, and of Kubeflow's operators.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from muster.api.places import place_interval
from muster.api.progress import KEYS, MAX_PROCESSES, report_interval
from muster.reporting.reporter import Latest, value_of

TORCH = "torch.distributed.distributed_c10d"
"""The module of torch that holds the process groups; the same from 1.13 to 2.15."""


class NoStore(Exception):
    """The default process group has a store that cannot be read from outside of the job."""


class Place(NamedTuple):
    """The place of this process: the index of its pod, its index in the pod, and the number of processes in the pod."""

    member: int
    local: int
    processes: int


class TcpStore(NamedTuple):
    """The TCPStore, from this process."""

    client: Any
    place: Place
    world: int

    @property
    def quiet(self) -> float:
        """See ``muster.reporting.reporter.Place``."""
        return place_interval(self.world)

    @property
    def prompt(self) -> bool:
        """See ``muster.reporting.reporter.Place``."""
        return (self.place.member, self.place.local) == (0, 0)

    @property
    def shows_work(self) -> bool:
        """See ``muster.reporting.reporter.Place``."""
        return False

    def next(self, now: float) -> float:
        """See ``muster.reporting.reporter.Place``."""
        return now + report_interval(self.world)

    def write(self, latest: Latest) -> None:
        """See ``muster.reporting.reporter.Place``."""
        member, local, processes = self.place
        key = f"{KEYS}/{member}.{local}" if local else f"{KEYS}/{member}"
        more = {"processes": processes} if processes > 1 else {}
        _tcp(self.client).set(key, value_of(latest, **more))


def tcp_store() -> TcpStore | None:
    """Return the store of the default process group; None if there is none yet, or torch is not imported."""
    module = sys.modules.get(TORCH)
    if module is None or not module.is_initialized():
        return None
    rank, world = module.get_rank(), module.get_world_size()
    return TcpStore(module._get_default_store(), place_of(os.environ, rank, world), world)  # noqa: SLF001 - no other way


def place_of(environ: Mapping[str, str], rank: int, world: int) -> Place:
    """Return the place of the process of that rank among ``world`` ones. Ranks of one pod follow each other."""
    number = {name: int(value) for name, value in environ.items() if name in _NUMBERS and value.isdigit()}
    if "LOCAL_RANK" in number and "LOCAL_WORLD_SIZE" in number:  # torchrun has started it
        local, processes = number["LOCAL_RANK"], number["LOCAL_WORLD_SIZE"]
    else:
        pods = number.get("PET_NNODES", world)
        processes = world // pods if pods and world % pods == 0 else 1
        local = rank % processes
    member = number.get("PET_NODE_RANK", number.get("GROUP_RANK", rank // max(1, processes)))
    if processes > MAX_PROCESSES:
        raise ValueError(f"a pod has at most {MAX_PROCESSES} processes that report, this one has {processes}")
    return Place(member, local, processes)


_NUMBERS = frozenset({"PET_NODE_RANK", "PET_NNODES", "GROUP_RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"})


def _tcp(store: Any) -> Any:
    """Return the TCPStore below prefixes. Raises ``NoStore``."""
    while (below := getattr(store, "underlying_store", None)) is not None:
        store = below
    if type(store).__name__ != "TCPStore":
        raise NoStore(f"the store of the process group is a {type(store).__name__}, and only a TCPStore can be read")
    return store
