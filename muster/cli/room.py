"""Free resources of the machine that ``muster run`` uses, and the holders of the rest.

Alone on the machine a run gets nearly all of it. On a cluster that is kept, several run side by side: one that states
nothing gets half of what is free, so that the next one has a place, too.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from muster.api.errors import MusterError
from muster.api.manifest.changes.lighten import Share
from muster.client import Client
from muster.kube.unstructured import mapping
from muster.local.node import objects
from muster.local.node.objects import NODES, PODS
from muster.local.node.registration import machine_capacity
from muster.local.node.scheduling import fit
from muster.local.node.scheduling.gangs import Gang
from muster.local.node.scheduling.shortage import Holder, Ledger, sentence
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.subject import title

ALONE: Final = Decimal("0.9")
"""The part of this machine that the members of an experiment get together; its cluster needs the rest."""
BESIDE: Final = Decimal("0.5")
"""The part of what is free on a kept cluster."""
LEAST: Final = Share(cpus=0.05, memory=0.25)
"""Share that a member gets at least beside others: with less memory it would be killed as it starts."""
_GB: Final = 10**9


@dataclass(frozen=True, slots=True)
class Room:
    """The resources of one machine, and what is held of them; ``part`` of what is free is for this run."""

    ledger: Ledger
    part: Decimal

    @classmethod
    def of_this_machine(cls) -> "Room":
        """Return the room of the whole machine, for a cluster of one's own."""
        return cls(Ledger(fit.amounts(machine_capacity())), ALONE)

    def share(self, members: int, reserved: Share | None = None) -> Share:
        """Return what each of so many members gets of what is free; ``reserved`` is for others of the same gang."""
        least = LEAST if self.ledger.held else Share(0.001, 0.001)
        cpus = self._free("cpu") * self.part - Decimal(str(reserved.cpus if reserved else 0))
        memory = self._free("memory") * self.part / _GB - Decimal(str(reserved.memory if reserved else 0))
        return Share(
            cpus=max(least.cpus, int(cpus * 1000 / max(members, 1)) / 1000),
            memory=max(least.memory, int(memory * 1000 / max(members, 1)) / 1000),
        )

    def refuse(self, plan: Plan, who: str, *, cut: bool) -> None:
        """Raise ``MusterError`` if the gang of the plan does not fit as a whole.

        ``cut``: ``--ignore-resources`` helps.
        """
        lacks = self.ledger.lacks(Gang.of_plan(plan).missing(()))
        if not lacks:
            return
        steps = []
        if all(lack.need <= lack.most for lack in lacks):
            steps = [_waiting(holder, plan.namespace) for holder in lacks[0].held if holder.kind != "Pod"][:1]
        if cut:
            steps.append("--ignore-resources cuts them" if not steps else "--ignore-resources")
        raise MusterError("; ".join(filter(None, (sentence(who, lacks, plan.namespace), ", or ".join(steps)))))

    def note(self, namespace: str) -> str:
        """Return what holds a part of this machine; empty if nothing does."""
        words = []
        for holder, amounts in sorted(self.ledger.held.items()):
            cpus, memory = amounts.get("cpu", Decimal(0)), amounts.get("memory", Decimal(0)) / _GB
            words.append(f"{holder.title(namespace)} holds {float(cpus):.3g} CPU and {float(memory):.3g} GB")
        return ", ".join(words)

    def _free(self, name: str) -> Decimal:
        most, used = self.ledger.capacity.get(name, Decimal(0)), self.ledger.used.get(name, Decimal(0))
        return max(Decimal(0), most - used)


async def read_room(client: Client) -> Room:
    """Return the machine of a kept cluster. Raises ``ApiError``."""
    nodes = await client.resources.list(NODES)
    capacity = fit.add(fit.amounts(mapping(objects.status(node).get("allocatable"))) for node in nodes)
    pods = await client.resources.list(PODS)
    return Room(Ledger(capacity, (pod for pod in pods if objects.node_name(pod) and not objects.finished(pod))), BESIDE)


def _waiting(holder: Holder, namespace: str) -> str:
    place = "" if holder.namespace == namespace else f" -n {holder.namespace}"
    return f"wait for it: muster wait {title(holder.kind, holder.name)}{place}"
