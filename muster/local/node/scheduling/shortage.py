"""Reports what does not fit on the node, and what holds the rest.

`muster run` refuses with it, and a pod that waits has it in its condition PodScheduled.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Final, NamedTuple

from muster.api.names import KIND, LABEL_EXPERIMENT
from muster.api.values.printable import printable
from muster.local.node import objects
from muster.local.node.objects import Object
from muster.local.node.scheduling import fit
from muster.state.vocabulary.subject import title

NAMED: Final = 3
"""The most holders that are named for one resource."""
_UNITS: Final = {"cpu": (Decimal(1), "CPU"), "memory": (Decimal(10**9), "GB of memory")}
_STEP: Final = Decimal("0.01")


class Holder(NamedTuple):
    """Holder of resources: an experiment (or another object that Muster runs), or a pod beside them (kind Pod)."""

    kind: str
    namespace: str
    name: str

    def title(self, namespace: str) -> str:
        """Return its name for a reader in ``namespace``."""
        place = "" if self.namespace == namespace else f" of namespace {self.namespace}"
        prefix = {KIND: "experiment ", "Pod": "pod "}.get(self.kind, "")
        return printable(f"{prefix}{self.name if self.kind == 'Pod' else title(self.kind, self.name)}{place}")


@dataclass(frozen=True, slots=True)
class Lack:
    """A resource that has less free than is needed."""

    name: str
    need: Decimal
    free: Decimal
    most: Decimal
    """Total of the node."""
    held: Mapping[Holder, Decimal]
    """The largest first."""

    def words(self, namespace: str) -> str:
        """Return ``2 CPU, 1.4 are free: experiment hang holds 0.6``.

        Needs are rounded up and what is free is rounded down, so that no sentence contradicts itself.
        """
        size, unit = _UNITS.get(self.name, (Decimal(1), printable(self.name)))
        asked = f"{_number(self.need / size, ROUND_CEILING)} {unit}"
        if self.need > self.most:
            return f"{asked}, this machine has {_number(self.most / size, ROUND_FLOOR)}"
        largest = list(self.held.items())
        names = [
            f"{holder.title(namespace)} holds {_number(amount / size, ROUND_CEILING)}"
            for holder, amount in largest[:NAMED]
        ]
        if len(largest) > NAMED:
            names.append(f"{len(largest) - NAMED} more hold the rest")
        free = f"{asked}, {_number(self.free / size, ROUND_FLOOR)} are free"
        return f"{free}: {', '.join(names)}" if names else free


def sentence(who: str, lacks: Sequence[Lack], namespace: str) -> str:
    """Return what is needed and not free. ``who`` has the verb (``2 workers need``); ``namespace`` is theirs."""
    return f"{who} {', and '.join(lack.words(namespace) for lack in lacks)}"


class Ledger:
    """Resources of the node, and of each holder on it. A pod whose requests cannot be read counts only as a pod."""

    def __init__(self, capacity: fit.Amounts, pods: Iterable[Object] = ()) -> None:
        self.capacity = capacity
        self.held: dict[Holder, fit.Amounts] = {}
        for pod in pods:
            self.take(pod, requests(pod))

    @property
    def used(self) -> dict[str, Decimal]:
        """Return the resources that all of them hold together."""
        return fit.add(self.held.values())

    def take(self, pod: Object, amounts: fit.Amounts) -> None:
        """Add to what the holder of a pod has."""
        holder = _holder(pod)
        self.held[holder] = fit.add([self.held.get(holder, {}), amounts])

    def lacks(self, need: fit.Amounts) -> list[Lack]:
        """Return the resources that do not suffice, by name; empty if the need fits."""
        found, used = [], self.used
        for name, amount in sorted(need.items()):
            most = self.capacity.get(name, Decimal(0))
            free = max(Decimal(0), most - used.get(name, Decimal(0)))
            if amount > free:
                held = {holder: amounts[name] for holder, amounts in self.held.items() if amounts.get(name, 0) > 0}
                largest = sorted(held, key=lambda holder: (-held[holder], holder))
                found.append(Lack(name, amount, free, most, {holder: held[holder] for holder in largest}))
        return found


def requests(pod: Object) -> Mapping[str, Decimal]:
    """Return the requests of a pod; one pod and nothing else if they are invalid."""
    try:
        return fit.requests(pod)
    except ValueError:
        return {"pods": Decimal(1)}


def _holder(pod: Object) -> Holder:
    name = objects.labels(pod).get(LABEL_EXPERIMENT)
    if name is None:
        return Holder("Pod", objects.namespace(pod), objects.name(pod))
    owners: Iterable[Object] = objects.metadata(pod).get("ownerReferences") or ()
    kind = next((str(each.get("kind")) for each in owners if each.get("controller")), KIND)
    return Holder(kind, objects.namespace(pod), name)


def _number(amount: Decimal, rounding: str) -> str:
    return f"{amount.quantize(_STEP, rounding=rounding).normalize():f}"
