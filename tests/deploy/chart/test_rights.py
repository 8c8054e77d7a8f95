"""What the default installation lets musterd do: these rights and no others. `make real` shows that each is used."""

import re
from pathlib import Path

import pytest
import yaml

from deploy.helm.manifests import MUSTERD, READERS, render
from deploy.helm.rights import CLUSTER, GRANTING, NoReason, rows, table
from muster.kinds.registry import WATCHED_KINDS
from tests.deploy.chart.conftest import Rendered, arguments, grants

pytestmark = pytest.mark.slow

RIGHTS = {
    "experiments.muster.dev": "get list watch delete",
    "experiments/status.muster.dev": "update",
    "experiments/finalizers.muster.dev": "update",
    "jobsets.jobset.x-k8s.io": "get list watch delete",
    "jobsets/status.jobset.x-k8s.io": "update",
    "jobsets/finalizers.jobset.x-k8s.io": "update",
    "pods": "get list watch create patch delete",
    "services": "get list watch create",
    "persistentvolumeclaims": "get create",
    "events": "create list",
    "tokenreviews.authentication.k8s.io": "create",
    "subjectaccessreviews.authorization.k8s.io": "create",
}
"""In the whole cluster."""
LEASE = ("coordination.k8s.io", "leases")
OBJECTS = [each for each in yaml.safe_load_all(MUSTERD.read_text(encoding="utf-8")) if each]


def test_musterd_has_these_rights_in_the_cluster_and_no_others() -> None:
    found = {right for where, right, _ in grants(OBJECTS, "musterd") if where == CLUSTER}
    expected = {
        (name.partition(".")[2], name.partition(".")[0], verb)
        for name, verbs in RIGHTS.items()
        for verb in verbs.split()
    }
    assert found == expected


QUEUE = {
    ("kueue.x-k8s.io", "workloads", "get list watch create patch delete"),
    ("kueue.x-k8s.io", "workloads/status", "patch"),
}
FLAVORS = {("kueue.x-k8s.io", "resourceflavors", "get"), ("kueue.x-k8s.io", "workloadpriorityclasses", "get")}


@pytest.mark.parametrize("namespace", [CLUSTER, "lab"])
def test_queues_of_kueue_have_rights_of_their_own(rendered: Rendered, namespace: str) -> None:
    objects = rendered("--set", f"kueue.enabled=true,settings.namespace={namespace}")
    found = {(where, right) for where, right, _ in grants(objects, "musterd") if right[0] == "kueue.x-k8s.io"}
    workloads = {(namespace, (group, name, verb)) for group, name, verbs in QUEUE for verb in verbs.split()}
    assert found == workloads | {(CLUSTER, each) for each in FLAVORS}
    assert "--kueue" in arguments(objects)


def test_what_is_made_of_a_watched_object_may_be_read_and_not_ended(rendered: Rendered) -> None:
    objects = rendered(
        "--set", "watch.kinds=trainjobs,watch.deadlines=true,settings.namespace=lab,settings.runKinds=none"
    )
    verbs: dict[str, set[str]] = {}
    for _, (_, name, verb), _ in grants(objects, "musterd"):
        verbs.setdefault(name, set()).add(verb)
    assert verbs["trainjobs"] == {"get", "list", "watch", "patch", "delete"}
    assert verbs["jobsets"] == {"get", "list", "watch"}


@pytest.mark.parametrize("namespace", [CLUSTER, "lab"])
def test_nodes_are_read_only_with_the_value_for_their_labels(rendered: Rendered, namespace: str) -> None:
    for wanted, rights in (
        ("false", set()),
        ("true", {(CLUSTER, ("", "nodes", "list")), (CLUSTER, ("", "nodes", "watch"))}),
    ):
        objects = rendered("--set", f"settings.nodeLabels={wanted},settings.namespace={namespace}")
        assert {(where, right) for where, right, _ in grants(objects, "musterd") if right[1] == "nodes"} == rights


def test_the_history_of_nodes_is_stored_by_name_and_only_where_that_is_asked_for(rendered: Rendered) -> None:
    for values, name in (
        ("replicas=2", ""),
        ("settings.nodeHistory=true", "musterd-nodes"),
        ("settings.nodeHistory=true,settings.leaseName=other,settings.leaderElect=false,replicas=1", "other-nodes"),
    ):
        found = {
            (where, right[2], name)
            for where, right, name in grants(rendered("--set", values), "musterd")
            if right[1] == "configmaps"
        }
        verbs = {("create", ""), ("get", name), ("patch", name)} if name else set()
        assert found == {("muster-system", verb, which) for verb, which in verbs}


@pytest.mark.parametrize("namespace", [CLUSTER, "lab"])
def test_runs_of_other_controllers_have_a_role_of_their_own(rendered: Rendered, namespace: str) -> None:
    """To read, and to end those that ask for it only where that is switched on."""
    for deadlines, verbs in (("false", "get list watch"), ("true", "get list watch patch delete")):
        values = f"watch.kinds=jobs\\,rayjobs\\,pods,watch.deadlines={deadlines},settings.namespace={namespace}"
        objects = rendered("--set", values)
        (role,) = (each for each in objects if each["metadata"]["name"] == "musterd-watch" and "rules" in each)
        assert role["kind"] == ("Role" if namespace else "ClusterRole")
        found = {(where, right) for where, right, _ in grants(objects, "musterd") if right[0] in ("batch", "ray.io")}
        kinds = (("batch", "jobs"), ("ray.io", "rayjobs"))
        assert found == {(namespace, (*kind, verb)) for kind in kinds for verb in verbs.split()}
        assert "--watch-kinds=jobs,rayjobs,pods" in arguments(objects)


def test_all_watched_kinds_have_their_rights(rendered: Rendered) -> None:
    objects = rendered("--set", "watch.kinds=all")
    (role,) = (each for each in objects if each["metadata"]["name"] == "musterd-watch" and "rules" in each)
    assert role["kind"] == "ClusterRole"
    granted = {(rule["apiGroups"][0], rule["resources"][0]) for rule in role["rules"]}
    subjects = [kind.subject for kind in WATCHED_KINDS.values() if not kind.virtual]
    assert granted == {(each.api_version.partition("/")[0], each.plural) for each in subjects}


@pytest.mark.parametrize("namespace", [CLUSTER, "lab"])
def test_events_are_listed_unless_that_is_switched_off(rendered: Rendered, namespace: str) -> None:
    for value, wanted in (("watch.kinds=jobs", True), ("watch.kinds=", True), ("watch.events=false", False)):
        objects = rendered("--set", f"{value},settings.namespace={namespace}")
        found = {(where, right) for where, right, _ in grants(objects, "musterd") if right[1] == "events"}
        listed = {(namespace, ("", "events", "list"))} if wanted else set()
        assert found == {(namespace, ("", "events", "create"))} | listed


def test_in_its_own_namespace_it_has_its_lease_by_name() -> None:
    found = [(where, right, name) for where, right, name in grants(OBJECTS, "musterd") if where != CLUSTER]
    assert {where for where, _, _ in found} == {"muster-system"}
    named = {((*LEASE, "get"), "musterd"), ((*LEASE, "update"), "musterd"), ((*LEASE, "create"), "")}
    assert {(right, name) for _, right, name in found} == named, "create cannot be granted for one name"


def test_no_right_is_bound_to_anyone_but_musterd() -> None:
    readers = [each for each in yaml.safe_load_all(READERS.read_text(encoding="utf-8")) if each]
    subjects = [subject["name"] for each in [*OBJECTS, *readers] for subject in each.get("subjects", ())]
    assert set(subjects) == {"musterd"}


def test_people_may_not_write_the_status() -> None:
    roles = [each for each in yaml.safe_load_all(READERS.read_text(encoding="utf-8")) if each]
    named = {resource for each in roles for rule in each["rules"] for resource in rule.get("resources", ())}
    assert named == {"experiments"}


@pytest.mark.parametrize(("kinds", "expected"), [
    ("none", set()),
    ("jobsets", {("jobset.x-k8s.io", "jobsets")}),
    ("jobsets,jaxjobs", {("jobset.x-k8s.io", "jobsets"), ("kubeflow.org", "jaxjobs")}),
])  # fmt: skip
def test_rights_for_another_kind_are_there_only_where_it_is_run(
    rendered: Rendered, kinds: str, expected: set[tuple[str, str]]
) -> None:
    objects = rendered("--set-json", f'settings={{"runKinds": "{kinds}"}}')
    foreign = [(group, resource, verb) for _, (group, resource, verb), _ in grants(objects, "musterd")
               if group in ("jobset.x-k8s.io", "kubeflow.org")]  # fmt: skip
    assert {(group, resource.partition("/")[0]) for group, resource, _ in foreign} == expected
    assert len(foreign) == 6 * len(expected)


@pytest.mark.parametrize("namespace", [CLUSTER, "lab"])
def test_prune_has_an_account_of_its_own_that_lists_and_deletes_experiments(rendered: Rendered, namespace: str) -> None:
    objects = rendered("--set", f"prune.enabled=true,settings.namespace={namespace}")
    found = {(where, right) for where, right, _ in grants(objects, "musterd-prune")}
    assert found == {(namespace, ("muster.dev", "experiments", verb)) for verb in ("list", "delete")}


def test_a_line_of_the_table_is_a_rule_with_its_reason_and_the_value_that_it_goes_with(helm: Path) -> None:
    line = re.compile(r"- (?P<verbs>[a-z, ]+) of (?P<names>.+?)(?: \(`(?P<value>[\w.]+)`\))?: (?P<reason>.+)")
    found = [line.fullmatch(each) for each in table(helm).splitlines()]
    by_value = {value: [each for each in found if each and (each["value"] or "") == value] for value in GRANTING}
    assert all(found)
    assert all(by_value.values())
    kept = [(each["verbs"], each["names"]) for each in by_value["settings.nodeHistory"]]
    assert ("get, patch", "configmaps, in its own namespace, by name") in kept
    assert ("list, watch", "nodes, in the cluster") in [
        (each["verbs"], each["names"]) for each in by_value["settings.nodeLabels"]
    ]
    always = {
        (name, verb)
        for each in by_value[""]
        for name in each["names"].split(", in ")[0].split(", ")
        for verb in each["verbs"].split(", ")
    }
    leases = {("leases.coordination.k8s.io", verb) for verb in ("create", "get", "update")}
    assert always == {(name, verb) for name, verbs in RIGHTS.items() for verb in verbs.split()} | leases


def test_a_rule_without_a_reason_is_refused_by_the_name_of_its_resources(helm: Path) -> None:
    found = render(helm)
    assert list(rows(found))
    with pytest.raises(NoReason, match=r"^pods: "):
        list(rows(re.sub(r"(resources: \[pods\]) # .*", r"\1", found)))
