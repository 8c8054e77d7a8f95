"""Devices that a pod asks for, as small tuples, and which of them are accelerators: a setting of the installation."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from muster.api.values.quantities import QuantityError, parse_quantity

Devices = tuple[tuple[str, int], ...]
"""Name and number of each, by name."""

CLAIMS: Final = "resourceclaims.resource.k8s.io"
"""The name under which requests of claims are counted, as in the names of quotas (kubernetes: pkg/quota)."""
MOST_NAMES: Final = 8
"""Names that are kept of one pod, and of one run: the first ones by name."""
MOST_OF_ONE: Final = 10_000
"""Devices of one name that a pod is believed to ask for."""
LONGEST_NAME: Final = 128
_NATIVE: Final = "kubernetes.io"


def is_extended(name: object) -> bool:
    """Return True if the name is that of an extended resource, and short.

    Extended resources have a domain of their own, such as ``nvidia.com/gpu`` (kubernetes: pkg/apis/core/v1/helper,
    IsExtendedResourceName).
    """
    if not isinstance(name, str) or "/" not in name or len(name) > LONGEST_NAME or not name.isascii():
        return False
    domain = name.partition("/")[0]
    return not domain.startswith("requests.") and domain != _NATIVE and not domain.endswith(f".{_NATIVE}")


@lru_cache(maxsize=256)
def _number(text: str) -> int:
    try:
        return max(0, min(int(parse_quantity(text)), MOST_OF_ONE))
    except QuantityError:
        return 0


def devices_of(resources: Mapping[str, Any]) -> Devices:
    """Return the extended resources among the requests or limits of a container."""
    return bounded({name: _number(str(amount)) for name, amount in resources.items() if is_extended(name)})


def bounded(found: Mapping[str, int]) -> Devices:
    """Return those that are more than none, by name, and not too many names."""
    return tuple(sorted((name, number) for name, number in found.items() if number > 0)[:MOST_NAMES])


def total(parts: Iterable[tuple[Devices, int]]) -> Devices:
    """Return the sum of devices, each so many times."""
    found: dict[str, int] = {}  # a Counter costs more than the sum, and each run is summed at each scrape
    for devices, times in parts:
        for name, number in devices:
            found[name] = found.get(name, 0) + number * times
    return bounded(found)


def of_containers(containers: Iterable[Any], claims: object = ()) -> Devices:
    """Return the devices of the regular containers of a core/v1 PodSpec, and of its ``resourceClaims``.

    Each request of a claim that is made for the pod (``resourceClaimTemplateName``) counts as one device: a pod does
    not show how many devices its template asks for. A claim that is named (``resourceClaimName``) may be shared by many
    pods and is not counted.
    """
    made = (claim for claim in _items(claims) if claim.get("resourceClaimTemplateName"))
    own = {name for claim in made if isinstance(name := claim.get("name"), str)}
    requested: set[tuple[str, str]] = set()
    found: list[tuple[Devices, int]] = []
    for each in containers:
        resources = each.get("resources") if isinstance(each, Mapping) else None
        if not isinstance(resources, Mapping):
            continue
        stated = [part for key in ("requests", "limits") if isinstance(part := resources.get(key), Mapping)]
        found.append((devices_of({name: amount for part in stated for name, amount in part.items()}), 1))
        for claim in _items(resources.get("claims")):
            if isinstance(name := claim.get("name"), str) and name in own:
                requested.add((name, str(claim.get("request") or "")))
    if requested:
        found.append((((CLAIMS, min(len(requested), MOST_OF_ONE)),), 1))
    return total(found)


def _items(items: object) -> Iterator[Mapping[str, Any]]:
    for item in items if isinstance(items, (list, tuple)) else ():
        if isinstance(item, Mapping):
            yield item


DEFAULT: Final = (
    f"*/gpu,*/tpu,nvidia.com/mig-*,nvidia.com/gpu.shared,aws.amazon.com/neuron*,habana.ai/gaudi,gpu.intel.com/*,"
    f"huawei.com/Ascend*,{CLAIMS}"
)
PATTERN: Final = r"^(\*?[A-Za-z0-9][A-Za-z0-9./_-]*\*?|\*[A-Za-z0-9./_-]+\*?)(,\*?[A-Za-z0-9./_-]+\*?)*$|^$"
"""The form of the list."""


@dataclass(frozen=True, slots=True)
class Accelerators:
    """The list of names and patterns. ``of`` picks the accelerators out of devices.

    A pattern begins or ends with ``*``: ``*/gpu`` is every vendor's GPU, ``nvidia.com/mig-*`` every slice.
    """

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
"""The list of a reader that does not know the setting of the installation."""


def words(found: Mapping[str, int]) -> str:
    """Return ``64``, or ``8 amd.com/gpu, 64 nvidia.com/gpu`` where they are of several names; empty for none."""
    if len(found) == 1:
        return str(next(iter(found.values())))
    return ", ".join(f"{number} {name}" for name, number in found.items())
