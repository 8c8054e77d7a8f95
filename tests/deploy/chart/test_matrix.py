"""What the chart renders with each set of values: the kinds, their shapes, and what must hold of all of them."""

from typing import Any

import pytest

from deploy.helm.rights import CLUSTER
from tests.deploy.chart.conftest import Object, Rendered, grants, is_restricted, one
from tests.deploy.chart.matrix import DEFAULT, MATRIX, OF_CLUSTER, Case
from tests.deploy.chart.shapes import problems

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

OF_ONE_NAMESPACE = {name: case for name, case in MATRIX.items() if "settings.namespace=lab" in case.values}
GRANTING = ("kueue.enabled=true", "watch.kinds=all", "settings.nodeLabels=true", "settings.nodeHistory=true")
"""Values that go with rights of their own."""


@pytest.fixture(params=MATRIX)
def case(request: pytest.FixtureRequest) -> Case:
    return MATRIX[request.param]


@pytest.fixture
def objects(case: Case, rendered: Rendered) -> list[Object]:
    return rendered(*case.options(), namespace=case.namespace)


def test_the_kinds_are_those_that_the_values_ask_for(case: Case, objects: list[Object]) -> None:
    kinds = {each["kind"] for each in objects}
    expected = (DEFAULT | case.expect) - case.without
    assert kinds | {"CustomResourceDefinition"} == expected | {"CustomResourceDefinition"}
    assert ("CustomResourceDefinition" in kinds) is ("crds.install=false" not in case.values)


def test_every_object_has_only_fields_of_its_kind(objects: list[Object]) -> None:
    found = {f"{each['kind']} {each['metadata']['name']}": problems(each) for each in objects}
    assert {name: said for name, said in found.items() if said} == {}


def test_no_object_comes_twice_and_each_is_labelled_as_a_part_of_muster(objects: list[Object]) -> None:
    keys = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in objects]
    assert len(set(keys)) == len(keys)
    for each in objects:
        shared = each["kind"] == "CustomResourceDefinition" or each["metadata"]["name"].startswith("muster-")
        assert shared or each["metadata"]["labels"]["app.kubernetes.io/part-of"] == "muster"


def test_every_namespaced_object_names_its_namespace(case: Case, objects: list[Object]) -> None:
    named = {each["metadata"]["namespace"] for each in objects if each["kind"] not in OF_CLUSTER}
    assert named <= {case.namespace, "lab", "monitoring", "grafana"}
    assert not [each for each in objects if each["kind"] in OF_CLUSTER and "namespace" in each["metadata"]]


def test_the_pod_satisfies_the_restricted_profile(case: Case, objects: list[Object]) -> None:
    spec = pod(objects)["spec"]
    (container,) = spec["containers"]
    assert is_restricted(spec)
    assert not spec.keys() & {"hostPID", "hostIPC"}
    assert spec.get("hostNetwork", False) is case.privileged
    assert not [port for port in container["ports"] if "hostPort" in port]


def test_services_budgets_and_policies_select_the_pod(objects: list[Object]) -> None:
    labels = pod(objects)["metadata"]["labels"].items()
    selectors = [
        one(objects, "Deployment")["spec"]["selector"]["matchLabels"],
        *(each["spec"]["selector"] for each in objects if each["kind"] == "Service"),
        *(each["spec"]["selector"]["matchLabels"] for each in objects if each["kind"] == "PodDisruptionBudget"),
        *(each["spec"]["podSelector"]["matchLabels"] for each in objects if each["kind"] == "NetworkPolicy"),
    ]
    assert all(selector and selector.items() <= labels for selector in selectors)


def test_the_service_monitor_selects_the_service_and_keeps_the_labels_of_experiments(objects: list[Object]) -> None:
    for monitor in (each for each in objects if each["kind"] == "ServiceMonitor"):
        service = one(objects, "Service")
        (endpoint,) = monitor["spec"]["endpoints"]
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert monitor["spec"]["namespaceSelector"] == {"matchNames": [service["metadata"]["namespace"]]}
        assert endpoint["port"] == service["spec"]["ports"][0]["name"]
        assert endpoint["honorLabels"] is True
        assert ("bearerTokenFile" in endpoint) is not ("authorization" in endpoint)


def test_probes_and_policy_name_ports_of_the_pod(objects: list[Object]) -> None:
    (container,) = pod(objects)["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {"health"}
    for policy in (each for each in objects if each["kind"] == "NetworkPolicy"):
        rules = {port["port"]: rule["from"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
        assert set(rules) <= {ports["http"], ports.get("progress")}
        assert ("progress" in ports) is (ports.get("progress") in rules)
        for peer in rules.get(ports.get("progress"), ()):
            assert peer["podSelector"], "members and musterd itself, and no other pod"
    for service in (each for each in objects if each["kind"] == "Service"):
        name = "progress" if service["metadata"]["name"].endswith("-progress") else "http"
        assert [port["targetPort"] for port in service["spec"]["ports"]] == [name]


def test_replicas_reach_each_other_where_one_of_them_leads(objects: list[Object]) -> None:
    (container,) = pod(objects)["spec"]["containers"]
    ports = {each["containerPort"] for each in container["ports"] if each["name"] != "health"}
    (address,) = (each for each in container["env"] if each["name"] == "MUSTER_POD_ADDRESS")
    assert address["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    for policy in (each["spec"] for each in objects if each["kind"] == "NetworkPolicy"):
        peers = [{"podSelector": policy["podSelector"]}]
        ways = [each for each in policy["ingress"] if each["from"] == peers]
        ways += [each for each in policy["egress"] if each.get("to") == peers]
        assert len(ways) == 2 * ("--leader-elect" in container["args"])
        assert all({port["port"] for port in way["ports"]} == ports for way in ways)


def test_the_namespaces_of_members_are_those_that_the_values_name(rendered: Rendered) -> None:
    for values, wanted in (
        ("networkPolicy.memberNamespaces.matchLabels.team=ml", {"matchLabels": {"team": "ml"}}),
        ("settings.namespace=lab", {"matchLabels": {"kubernetes.io/metadata.name": "lab"}}),
        ("replicas=2", {}),
    ):
        policy = one(rendered("--set", f"progress.secretName=x,{values}"), "NetworkPolicy")
        members = policy["spec"]["ingress"][1]["from"][0]
        assert members["namespaceSelector"] == wanted
        assert members["podSelector"]


def test_no_values_give_musterd_more_rights_than_the_default_but_those_of_queues_and_watched_runs(
    case: Case, objects: list[Object], rendered: Rendered
) -> None:
    account = pod(objects)["spec"]["serviceAccountName"]
    granting = [each for each in case.values.split(",") if each in GRANTING]
    allowed = {right for _, right, _ in grants(rendered("--set", ",".join(granting)), "musterd")}
    assert {right for _, right, _ in grants(objects, account)} <= allowed
    named = {name for _, right, name in grants(objects, account) if right[1] == "leases" and right[2] != "create"}
    assert "" not in named, "of the Leases of its namespace musterd reads and writes its own only"


@pytest.mark.parametrize("case", OF_ONE_NAMESPACE.values(), ids=OF_ONE_NAMESPACE)
def test_for_one_namespace_only_reviews_are_granted_in_the_cluster(case: Case, objects: list[Object]) -> None:
    found = list(grants(objects, pod(objects)["spec"]["serviceAccountName"]))
    in_cluster = {right for where, right, _ in found if where == CLUSTER}
    reviews = {
        ("authentication.k8s.io", "tokenreviews", "create"),
        ("authorization.k8s.io", "subjectaccessreviews", "create"),
    }
    tried = {"resourceflavors", "workloadpriorityclasses", "nodes"}  # in tests/deploy/chart/test_rights.py
    in_cluster = {right for right in in_cluster if right[1] not in tried}
    assert in_cluster == (set() if "rbac.reviews=false" in case.values else reviews)
    assert {where for where, _, _ in found} - {CLUSTER} == {"lab", case.namespace}
    assert {right[1] for where, right, _ in found if where == case.namespace} == {"leases"}
    assert coordinators(objects)["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "lab"}}


def test_the_policy_lets_probes_reach_the_pods_of_watched_runs(objects: list[Object], case: Case) -> None:
    """Pods that other controllers make have no label in common, and none of Muster's own."""
    for _ in (each for each in objects if each["kind"] == "NetworkPolicy"):
        assert ("podSelector" in coordinators(objects)) is ("watch.kinds" not in case.values)


def test_the_pod_cannot_be_preempted_by_the_runs_that_it_looks_after(objects: list[Object]) -> None:
    made = {each["metadata"]["name"]: each["value"] for each in objects if each["kind"] == "PriorityClass"}
    for name, value in made.items():
        assert pod(objects)["spec"]["priorityClassName"] in (name, "high")
        assert value == 1_000_000_000, "the highest that a user's class may have"


def coordinators(objects: list[Object]) -> Any:
    (peer,) = one(objects, "NetworkPolicy")["spec"]["egress"][-1]["to"]
    return peer


def pod(objects: list[Object]) -> Any:
    return one(objects, "Deployment")["spec"]["template"]
