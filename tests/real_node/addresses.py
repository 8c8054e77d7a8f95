"""The addresses of one run. They are in a network namespace of the run, so that runs do not meet each other."""

from dataclasses import dataclass
from pathlib import Path

BRIDGE = "nodes"
HOST = "10.89.0.1"
"""The bridge's own: of the API server, of the registries, and of what the tests serve."""
API_PORT = 6443
REGISTRY = "registry.test:5000"
"""Open to everyone."""
PRIVATE_REGISTRY = "registry.test:5001"
"""The same images, for those with a pull secret."""
SLOW_REGISTRY = "registry.test:5002"
"""The same images, where a situation serves it."""
PODS = "10.244.0.0/16"
DNS = "10.96.0.10"
DOMAIN = "cluster.local"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the machine with a number is."""

    number: int

    @property
    def name(self) -> str:
        return f"node-{self.number}"

    @property
    def address(self) -> str:
        return f"10.89.0.{10 + self.number}"

    @property
    def pods(self) -> str:
        return f"10.244.{self.number}.0/24"

    @property
    def link(self) -> str:
        """The interface on the bridge; the other end is eth0 of the machine."""
        return f"machine{self.number}"


PLACES = 60
"""Machines that one run can have."""


def next_place(folder: Path) -> Place:
    """A number that no machine of this run has had. The runner and its tests ask; a file is made for each."""
    for number in range(1, PLACES + 1):
        try:
            (folder / f"place-{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        return Place(number)
    raise RuntimeError(f"more than {PLACES} machines in one run")
