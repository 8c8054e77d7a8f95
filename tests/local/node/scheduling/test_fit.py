"""Which pods fit on the node, and the scheduler's messages."""

from decimal import Decimal
from typing import Any

import pytest

from muster.local.node.scheduling.fit import amounts, requests, selected
from muster.local.node.scheduling.scheduler import Ledger, refusal
from tests.local.node.harness import Pod, container, pod

CAPACITY = amounts({"cpu": "2", "memory": "4Gi", "pods": "3"})


def test_requests_are_those_of_containers_and_sidecars_or_of_the_largest_init_container() -> None:
    def need(cpu: str, **fields: Any) -> Pod:
        return container(resources={"requests": {"cpu": cpu}}, **fields)

    made = pod("p", need("500m"), need("250m"), initContainers=[need("600m"), need("100m", restartPolicy="Always")])
    assert requests(made)["cpu"] == Decimal("0.85")


def test_limits_are_the_default_of_requests() -> None:
    made = pod("p", container(resources={"limits": {"nvidia.com/gpu": "1"}}))
    assert requests(made)["nvidia.com/gpu"] == 1


def test_the_message_names_every_insufficient_resource() -> None:
    made = pod("p", container(resources={"requests": {"cpu": "1", "memory": "8Gi", "nvidia.com/gpu": "1"}}))
    ledger = Ledger(CAPACITY)
    ledger.take(made, amounts({"cpu": "1500m", "pods": "3"}))
    assert refusal("It needs", ledger.lacks(requests(made)), made).startswith(
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu, "
        "1 Too many pods. It needs 1 CPU, 0.5 are free"
    )


def matching(kind: str, key: str, operator: str, *values: str) -> dict[str, Any]:
    """A required affinity to nodes by their labels (matchExpressions) or by their name (matchFields)."""
    terms = [{kind: [{"key": key, "operator": operator, "values": list(values)}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, True),
        ({"nodeSelector": {"disk": "tape"}}, False),
        (matching("matchExpressions", "disk", "In", "ssd", "nvme"), True),
        (matching("matchExpressions", "disk", "NotIn", "ssd"), False),
        (matching("matchExpressions", "tape", "DoesNotExist"), True),
        (matching("matchExpressions", "disk", "Exists"), True),
        (matching("matchFields", "metadata.name", "In", "local"), True),
        (matching("matchFields", "metadata.name", "NotIn", "local"), False),
    ],
)
def test_node_selector_and_affinity_match_labels_and_name_of_the_node(fields: dict[str, Any], fits: bool) -> None:
    labels = {"disk": "ssd", "kubernetes.io/hostname": "local"}
    assert selected(pod("p", container(), **fields), labels) is fits


def test_the_message_of_a_node_that_the_pod_does_not_select_names_that_alone() -> None:
    message = refusal("It needs", [], pod("p"), selected=False)
    assert message == "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
