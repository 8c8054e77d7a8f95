"""Which pods fit on the node, and the scheduler's messages."""

from decimal import Decimal
from typing import Any

import pytest

from muster.local.node.scheduling.fit import amounts, message, misfits, requests
from tests.local.node.harness import MakePod, Pod

CAPACITY = amounts({"cpu": "2", "memory": "4Gi", "pods": "3"})


def asks(make_pod: MakePod, make_container: MakePod, name: str = "p", seconds: int = 0, **resources: str) -> Pod:
    made = make_pod(name, make_container(resources={"requests": resources}))
    made["metadata"] |= {
        "uid": f"u-{name}",
        "creationTimestamp": f"2026-01-01T00:00:{seconds:02}Z",
        "resourceVersion": "1",
    }
    return made


def test_requests_are_those_of_containers_and_sidecars_or_of_the_largest_init_container(
    make_pod: MakePod, make_container: MakePod
) -> None:
    def need(cpu: str, **fields: Any) -> Pod:
        return make_container(resources={"requests": {"cpu": cpu}}, **fields)

    made = make_pod(
        "p", need("500m"), need("250m"), initContainers=[need("600m"), need("100m", restartPolicy="Always")]
    )
    assert requests(made)["cpu"] == Decimal("0.85")


def test_limits_are_the_default_of_requests(make_pod: MakePod, make_container: MakePod) -> None:
    made = make_pod("p", make_container(resources={"limits": {"nvidia.com/gpu": "1"}}))
    assert requests(made)["nvidia.com/gpu"] == 1


def test_the_message_names_every_insufficient_resource(make_pod: MakePod, make_container: MakePod) -> None:
    wanted: dict[str, Any] = {"cpu": "1", "memory": "8Gi", "nvidia.com/gpu": "1"}
    made = asks(make_pod, make_container, **wanted)
    reasons = misfits(made, {}, CAPACITY, amounts({"cpu": "1500m", "pods": "3"}))
    assert message(reasons) == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu, "
        "1 Too many pods."
    )


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, True),
        ({"nodeSelector": {"disk": "tape"}}, False),
        ({"affinity": [("disk", "In", ["ssd", "nvme"])]}, True),
        ({"affinity": [("disk", "NotIn", ["ssd"])]}, False),
        ({"affinity": [("tape", "DoesNotExist", None), ("disk", "Exists", None)]}, True),
    ],
)
def test_node_selector_and_affinity_match_labels_of_the_node(
    make_pod: MakePod, make_container: MakePod, fields: dict[str, Any], fits: bool
) -> None:
    if "affinity" in fields:
        terms = [{"matchExpressions": [{"key": k, "operator": o, "values": v} for k, o, v in fields["affinity"]]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        fields = {"affinity": {"nodeAffinity": required}}
    reasons = misfits(make_pod("p", make_container(), **fields), {"disk": "ssd"}, CAPACITY, {})
    assert reasons == ([] if fits else ["node(s) didn't match Pod's node affinity/selector"])


@pytest.mark.parametrize(("operator", "fits"), [("In", True), ("NotIn", False)])
def test_affinity_to_the_name_of_the_node(
    make_pod: MakePod, make_container: MakePod, operator: str, fits: bool
) -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": operator, "values": ["local"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    reasons = misfits(
        make_pod("p", make_container(), affinity=affinity), {"kubernetes.io/hostname": "local"}, CAPACITY, {}
    )
    assert (reasons == []) is fits


@pytest.fixture
def pods() -> dict[str, Pod]:
    return {}
