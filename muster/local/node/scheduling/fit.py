"""The requests of pods and of gangs, and whether a pod may run on this node.

The rules are those of the kube-scheduler plugins NodeResourcesFit and NodeAffinity. The node has no taints. Pod
(anti-)affinity and topology spread are ignored, because the cluster has one node only.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Self

from muster.api.errors import MusterError
from muster.api.manifest.experiment import parse_experiment
from muster.api.names import CONTAINER, LABEL_EPOCH, LABEL_GROUP, LABEL_UID
from muster.api.values.quantities import parse_quantity
from muster.kinds.experiments import plan_of
from muster.kinds.registry import RUN_KINDS
from muster.kube.resources import ResourceClient, custom
from muster.local.node import objects
from muster.local.node.objects import Object
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.rules import GateCondition
from muster.state.vocabulary.subject import EXPERIMENT

Amounts = Mapping[str, Decimal]


def amounts(quantities: Mapping[str, object]) -> dict[str, Decimal]:
    """Return quantities as exact numbers; raises QuantityError (a ValueError) for an invalid one."""
    return {str(name): parse_quantity(str(text)) for name, text in quantities.items()}


def requests(pod: Object) -> dict[str, Decimal]:
    """Return the resource requests of a pod: the sum of its containers, or the largest init container if more."""
    spec = objects.spec(pod)
    total = add([{"pods": Decimal(1)}, *map(_asked, spec.get("containers") or ())])
    for container in spec.get("initContainers") or ():
        always = container.get("restartPolicy") == "Always"
        for name, amount in _asked(container).items():
            now = total.get(name, Decimal(0))
            total[name] = now + amount if always else max(now, amount)
    return add([total, amounts(spec.get("overhead") or {})])


def add(many: Iterable[Amounts]) -> dict[str, Decimal]:
    """Return the sum of several requests."""
    total: dict[str, Decimal] = {}
    for each in many:
        for name, amount in each.items():
            total[name] = total.get(name, Decimal(0)) + amount
    return total


def _asked(container: Object) -> dict[str, Decimal]:
    resources: Object = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def selected(pod: Object, node_labels: Mapping[str, str]) -> bool:
    """Return True if a node with these labels matches the pod's nodeSelector and node affinity."""
    spec = objects.spec(pod)
    if any(node_labels.get(name) != value for name, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity: Object = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required: Object | None = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    terms: Sequence[Object] = required.get("nodeSelectorTerms") or ()
    return any(_matches(term, node_labels) for term in terms)


def _matches(term: Object, node_labels: Mapping[str, str]) -> bool:
    """Return True if a term that asks for something holds. The only field is the name, a label of this node, too."""
    labels: Sequence[Object] = term.get("matchExpressions") or ()
    fields = [each for each in term.get("matchFields") or () if each.get("key") == "metadata.name"]
    of_name = [{**each, "key": "kubernetes.io/hostname"} for each in fields]
    asked = [*labels, *of_name]
    return bool(asked) and all(_holds(each, node_labels) for each in asked)


def _holds(expression: Object, node_labels: Mapping[str, str]) -> bool:
    value = node_labels.get(str(expression.get("key")))
    values: Sequence[str] = expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False


Key = tuple[str, str]
"""The uid of the experiment and the epoch; of a pod that belongs to none, its own uid and nothing."""
_PLURALS: Final = {
    subject.kind: subject.plural for subject in (EXPERIMENT, *(row.subject for row in RUN_KINDS.values()))
}


def key_of(pod: Object) -> Key:
    """Return the gang of a pod."""
    labels = objects.labels(pod)
    uid, epoch = labels.get(LABEL_UID), labels.get(LABEL_EPOCH)
    return (uid, epoch) if uid and epoch else (objects.uid(pod), "")


@dataclass(frozen=True, slots=True)
class Gang:
    """Requests of the members of one epoch that run together: how many of each group, and the requests of one.

    They get their places together or not at all: a gang that is placed in part holds resources and cannot begin, and
    two such gangs wait for each other forever. Pods are created one after the other, and some of them behind a gate, so
    only the plan of their owner shows what the whole gang asks for. Groups that wait until others are complete are not
    a part of it: they take the others' place.
    """

    key: Key
    groups: Mapping[str, tuple[int, Amounts]]

    @classmethod
    def of_plan(cls, plan: Plan, key: Key = ("", "")) -> Self:
        """Return the gang of a plan. Raises ValueError for requests that cannot be read."""
        beside = (group for group in plan.groups if _beside(group))
        return cls(key, {group.name: (group.at_a_time, _requests(group)) for group in beside})

    def missing(self, pods: Iterable[Object]) -> dict[str, Decimal]:
        """Return the requests of members without a pod, except those that succeeded; ``pods`` are all that exist."""
        created = Counter(objects.labels(pod).get(LABEL_GROUP, "") for pod in pods if self._has(pod))
        return add(requests for name, (count, requests) in self.groups.items() for _ in range(count - created[name]))

    def _has(self, pod: Object) -> bool:
        uid, _ = found = key_of(pod)
        return found == self.key or (uid == self.key[0] and objects.status(pod).get("phase") == "Succeeded")


class Gangs:
    """The gangs of the pods that exist, read from their owners once."""

    def __init__(self, api: ResourceClient) -> None:
        self._api = api
        self._known: dict[Key, Gang | None] = {}

    async def of(self, pods: Iterable[Object]) -> dict[Key, Gang]:
        """Return the gangs of ``pods``. Pods without one, or whose owner cannot be planned, are placed one by one."""
        members = {key_of(pod): pod for pod in pods}
        self._known = {key: gang for key, gang in self._known.items() if key in members}
        for key, pod in members.items():
            if key not in self._known:
                self._known[key] = await self._read(key, pod) if key[1] else None
        return {key: gang for key, gang in self._known.items() if gang is not None}

    async def _read(self, key: Key, pod: Object) -> Gang | None:
        owners: Iterable[Object] = objects.metadata(pod).get("ownerReferences") or ()
        owner = next((each for each in owners if each.get("controller") and each.get("kind") in _PLURALS), None)
        if owner is None:
            return None
        kind = str(owner["kind"])
        path = custom(str(owner["apiVersion"]), objects.namespace(pod), _PLURALS[kind], str(owner["name"]))
        try:
            return Gang.of_plan(_plan(kind, await self._api.get(path)), key)
        except (MusterError, ValueError):
            return None


def _plan(kind: str, document: Object) -> Plan:
    return plan_of(parse_experiment(document)) if kind == EXPERIMENT.kind else RUN_KINDS[kind].plan_of(document)


def _beside(group: Group) -> bool:
    """Return True if the group runs beside the others, and not after one of them."""
    return all(gate.condition is not GateCondition.COMPLETE for gate in group.gates)


def _requests(group: Group) -> Amounts:
    spec: Object = group.template.get("spec") or {}
    if group.whole:
        return requests({"spec": spec})
    own = {"resources": {"requests": dict(group.pod.requests)}}
    extra = [each for each in spec.get("containers") or () if each.get("name") != CONTAINER]
    return requests({"spec": {**spec, "containers": [own, *extra]}})
