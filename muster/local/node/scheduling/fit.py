"""Checks if a pod fits on this node, with the scheduler's message if it does not.

Checks and messages are those of the kube-scheduler plugins NodeResourcesFit and NodeAffinity. The node has no taints.
Pod (anti-)affinity and topology spread are ignored, because the cluster has one node only.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from muster.api.values.quantities import parse_quantity
from muster.local.node import objects
from muster.local.node.objects import Object

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


def misfits(pod: Object, node_labels: Mapping[str, str], capacity: Amounts, used: Amounts) -> list[str]:
    """Return why the pod does not fit on the node; empty if it does."""
    if not _selected(pod, node_labels):
        return ["node(s) didn't match Pod's node affinity/selector"]
    return insufficient(requests(pod), capacity, used)


def insufficient(need: Amounts, capacity: Amounts, used: Amounts) -> list[str]:
    """Return the reasons for which a need exceeds what is free; empty if it does not."""
    reasons: list[str] = []
    for name, amount in need.items():
        free = capacity.get(name, Decimal(0)) - used.get(name, Decimal(0))
        if amount > 0 and amount > free:
            reasons.append("Too many pods" if name == "pods" else f"Insufficient {name}")
    return sorted(reasons)


def message(reasons: Sequence[str]) -> str:
    """Return kube-scheduler's message for a cluster of one node."""
    return f"0/1 nodes are available: {', '.join(f'1 {reason}' for reason in reasons)}."


def ours(pod: Object) -> bool:
    """Return True if the pod is for the default scheduler, whose place this one takes."""
    return objects.spec(pod).get("schedulerName") in (None, "", "default-scheduler")


def _asked(container: Object) -> dict[str, Decimal]:
    resources: Object = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _selected(pod: Object, node_labels: Mapping[str, str]) -> bool:
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
