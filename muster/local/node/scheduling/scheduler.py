"""The scheduler: binds pending pods to this node, oldest first, and sets PodScheduled=False on those that do not fit.

It takes the place of kube-scheduler, with one node. It runs when a pod was created or has ended. The pods of a gang
get their places together or not at all. What a placed gang has not created yet is kept free for it.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Final, NamedTuple

from muster.api.errors import ApiError
from muster.api.names import KIND, LABEL_EXPERIMENT
from muster.api.values.printable import printable
from muster.kube.resources import ResourceClient
from muster.local.node import objects
from muster.local.node.context import LOG
from muster.local.node.objects import Clock, Object, condition, pod_path, whole_time
from muster.local.node.pods.status_writer import report
from muster.local.node.scheduling import fit
from muster.local.node.scheduling.fit import Gangs, Key, key_of
from muster.state.vocabulary.subject import title

NAMED: Final = 3
"""The most holders that are named for one resource."""
_UNITS: Final = {"cpu": (Decimal(1), "CPU"), "memory": (Decimal(10**9), "GB of memory")}
_STEP: Final = Decimal("0.01")
UNSELECTED: Final = "node(s) didn't match Pod's node affinity/selector"


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
    """A resource that has less free than is needed, and what holds the rest.

    `muster run` refuses with it, and a pod that waits has it in its condition PodScheduled.
    """

    name: str
    need: Decimal
    free: Decimal
    most: Decimal
    """Total of the node."""
    held: Mapping[Holder, Decimal]
    """The largest first."""

    @property
    def reason(self) -> str:
        """Return what kube-scheduler calls it."""
        return "Too many pods" if self.name == "pods" else f"Insufficient {self.name}"

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


RETRY_SECONDS = 2.0


@dataclass(slots=True, eq=False)
class Scheduler:
    """Schedules `pods`, the informer's view of all pods by uid, which is updated while this runs."""

    api: ResourceClient
    pods: Mapping[str, Object]
    _: KW_ONLY
    node: str
    node_labels: Mapping[str, str]
    capacity: Mapping[str, Decimal]
    clock: Clock
    _gangs: Gangs = field(init=False)
    _woken: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _bound: dict[str, Object] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._gangs = Gangs(self.api)

    def wake(self) -> None:
        """Schedule again, because a pod was created or has ended."""
        self._woken.set()

    async def run(self) -> None:
        """Schedule until cancelled."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            if not await self.schedule():
                await asyncio.sleep(RETRY_SECONDS)
                self._woken.set()

    async def schedule(self) -> bool:
        """Try every pending pod once. False if a request failed and has to be retried."""
        self._bound = {
            uid: pod for uid, pod in self._bound.items() if uid in self.pods and not objects.node_name(self.pods[uid])
        }
        waiting = sorted(filter(self._pending, self.pods.values()), key=_age)
        if not waiting:
            return True
        pods = list(self.pods.values())
        here = [pod for pod in pods if objects.node_name(pod) == self.node and not objects.finished(pod)]
        here += self._bound.values()
        gangs = await self._gangs.of(pods)
        begun = {key_of(pod): pod for pod in here}
        ledger = Ledger(self.capacity, here)
        for key, pod in begun.items():
            if key in gangs:
                ledger.take(pod, gangs[key].missing(pods))
        complete = True
        for key, members in _by_gang(sorted(waiting, key=lambda pod: key_of(pod) not in begun)).items():
            why = ""
            if key in gangs and key not in begun:
                missing = gangs[key].missing(pods)
                need = fit.add([*map(requests, members), missing])
                if lacks := ledger.lacks(need):
                    why = refusal(f"The {need['pods']} pods of the gang need", lacks, members[0])
                else:
                    ledger.take(members[0], missing)
            for pod in members:
                try:
                    if why:
                        await self._explain(pod, "Unschedulable", why)
                    elif await self._place(pod, ledger):
                        ledger.take(pod, requests(pod))
                except ApiError as error:
                    LOG.info("pod not scheduled", pod=objects.key(pod), error=str(error))
                    complete = complete and error.status in {404, 409}  # deleted, or bound by another scheduler
        return complete

    def _pending(self, pod: Object) -> bool:
        return (
            not objects.node_name(pod)
            and objects.uid(pod) not in self._bound
            and not objects.finished(pod)
            and not objects.metadata(pod).get("deletionTimestamp")
            and objects.spec(pod).get("schedulerName") in (None, "", "default-scheduler")
        )

    async def _place(self, pod: Object, ledger: Ledger) -> bool:
        if objects.spec(pod).get("schedulingGates"):
            await self._explain(pod, "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")
            return False
        try:
            selected, lacks = fit.selected(pod, self.node_labels), ledger.lacks(fit.requests(pod))
            why = refusal("Its containers need", lacks, pod, selected=selected) if lacks or not selected else ""
        except ValueError as error:
            why = f"the pod's resource requests cannot be read: {error}"
        if why:
            await self._explain(pod, "Unschedulable", why)
            return False
        metadata = objects.metadata(pod)
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": metadata["name"], "namespace": objects.namespace(pod), "uid": metadata.get("uid")},
            "target": {"apiVersion": "v1", "kind": "Node", "name": self.node},
        }
        await self.api.create(pod_path(pod, "binding"), binding)
        self._bound[objects.uid(pod)] = pod
        return True

    async def _explain(self, pod: Object, reason: str, message: str) -> None:
        """Set the condition PodScheduled=False, if it changes."""
        known: list[dict[str, Any]] = list(objects.status(pod).get("conditions") or ())
        before = next((each for each in known if each.get("type") == "PodScheduled"), {})
        if (before.get("status"), before.get("reason"), before.get("message")) == ("False", reason, message):
            return
        since = before.get("lastTransitionTime") if before.get("status") == "False" else whole_time(self.clock())
        others = [each for each in known if each.get("type") != "PodScheduled"]
        conditions = [*others, condition("PodScheduled", False, reason, message, since)]
        patch = {
            "metadata": {"resourceVersion": objects.metadata(pod).get("resourceVersion")},
            "status": {"phase": "Pending", "conditions": conditions},
        }
        await self.api.merge(pod_path(pod, "status"), patch)
        if reason == "Unschedulable":
            await report(self.api, pod, "default-scheduler", self.clock, ("FailedScheduling", message))


def refusal(who: str, lacks: Sequence[Lack], pod: Object, *, selected: bool = True) -> str:
    """Return kube-scheduler's message for a cluster of one node, and what is needed and not free."""
    reasons = sorted(lack.reason for lack in lacks) if selected else [UNSELECTED]
    rest = f" {sentence(who, lacks, objects.namespace(pod))}" if lacks else ""
    return f"0/1 nodes are available: {', '.join(f'1 {reason}' for reason in reasons)}.{rest}"


def _by_gang(pods: Iterable[Object]) -> dict[Key, list[Object]]:
    found: dict[Key, list[Object]] = {}
    for pod in pods:
        found.setdefault(key_of(pod), []).append(pod)
    return found


def _age(pod: Object) -> str:
    return str(objects.metadata(pod).get("creationTimestamp") or "")
