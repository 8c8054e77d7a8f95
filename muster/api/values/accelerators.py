"""Which devices are accelerators: a list of names and patterns, a setting of the installation.

A pattern has one ``*`` at its beginning or its end: ``*/gpu`` is every vendor's GPU, ``nvidia.com/mig-*`` every slice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from muster.api.values.devices import CLAIMS, Devices

DEFAULT: Final = (
    f"*/gpu,*/tpu,nvidia.com/mig-*,nvidia.com/gpu.shared,aws.amazon.com/neuron*,habana.ai/gaudi,gpu.intel.com/*,"
    f"huawei.com/Ascend*,{CLAIMS}"
)
PATTERN: Final = r"^(\*?[A-Za-z0-9][A-Za-z0-9./_-]*\*?|\*[A-Za-z0-9./_-]+\*?)(,\*?[A-Za-z0-9./_-]+\*?)*$|^$"
"""The form of the list."""


@dataclass(frozen=True, slots=True)
class Accelerators:
    """The list. ``of`` picks the accelerators out of devices."""

    names: tuple[str, ...]

    @classmethod
    def of_list(cls, text: str) -> "Accelerators":
        """Return the names in a text, separated by commas."""
        return cls(tuple(filter(None, text.split(","))))

    def has(self, name: str) -> bool:
        """Return True if the resource of that name is an accelerator."""
        return any(_matches(pattern, name) for pattern in self.names)

    def of(self, devices: Devices) -> dict[str, int]:
        """Return those of the devices that are accelerators, by name."""
        return {name: number for name, number in devices if self.has(name)}

    def count(self, devices: Devices) -> int:
        """Return the number of accelerators among the devices."""
        return sum(self.of(devices).values())


def _matches(pattern: str, name: str) -> bool:
    if pattern.startswith("*"):
        return name.endswith(pattern[1:])
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


USUAL: Final = Accelerators.of_list(DEFAULT)
"""Those of a reader that does not know the setting of the installation."""


def words(found: Mapping[str, int]) -> str:
    """Return ``64``, or ``8 amd.com/gpu, 64 nvidia.com/gpu`` where they are of several names; empty for none."""
    if len(found) == 1:
        return str(next(iter(found.values())))
    return ", ".join(f"{number} {name}" for name, number in found.items())
