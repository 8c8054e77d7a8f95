"""What the default installation lets musterd do: these rights and no others. `make real` shows that each is used."""

import yaml

from deploy.helm.manifests import MUSTERD, READERS
from tests.deploy.chart.rights import CLUSTER, grants

RIGHTS = {
    "experiments.muster.dev": "get list watch delete",
    "experiments/status.muster.dev": "update",
    "experiments/finalizers.muster.dev": "update",
    "pods": "get list watch create patch delete",
    "services": "get list watch create",
    "events": "create",
    "tokenreviews.authentication.k8s.io": "create",
    "subjectaccessreviews.authorization.k8s.io": "create",
}
"""In the whole cluster."""
LEASE = {("coordination.k8s.io", "leases", "get"), ("coordination.k8s.io", "leases", "update")}
OBJECTS = [each for each in yaml.safe_load_all(MUSTERD.read_text(encoding="utf-8")) if each]


def test_musterd_has_these_rights_in_the_cluster_and_no_others() -> None:
    found = {right for where, right, _ in grants(OBJECTS, "musterd") if where == CLUSTER}
    expected = {
        (name.partition(".")[2], name.partition(".")[0], verb)
        for name, verbs in RIGHTS.items()
        for verb in verbs.split()
    }
    assert found == expected


def test_in_its_own_namespace_it_has_its_lease_by_name() -> None:
    found = [(where, right, name) for where, right, name in grants(OBJECTS, "musterd") if where != CLUSTER]
    assert {right for _, right, _ in found} == LEASE
    assert {(where, name) for where, _, name in found} == {("muster-system", "musterd")}


def test_no_right_is_bound_to_anyone_but_musterd() -> None:
    readers = [each for each in yaml.safe_load_all(READERS.read_text(encoding="utf-8")) if each]
    subjects = [subject["name"] for each in [*OBJECTS, *readers] for subject in each.get("subjects", ())]
    assert set(subjects) == {"musterd"}


def test_people_may_not_write_the_status() -> None:
    roles = [each for each in yaml.safe_load_all(READERS.read_text(encoding="utf-8")) if each]
    named = {resource for each in roles for rule in each["rules"] for resource in rule.get("resources", ())}
    assert named == {"experiments"}
