"""Helm, and what it renders. Where helm cannot be built, its tests are skipped, and the reason is printed."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.helm.manifests import render
from deploy.helm.rights import CLUSTER, where_of
from tests.tools.go_tool import HELM

Object = dict[str, Any]
Rendered = Callable[..., list[Object]]


@pytest.fixture(scope="session")
def helm() -> Path:
    """The helm of tests/tools/helm; built once, which takes some minutes."""
    return HELM.needed()


@pytest.fixture(scope="session")
def rendered(helm: Path) -> Rendered:
    """Render the chart with values (``--set`` options, or anything else that `helm template` takes); the same values
    are rendered once."""

    @cache
    def documents(*options: str, **more: Any) -> list[Object]:
        found = yaml.load_all(render(helm, *options, **more), Loader=yaml.CSafeLoader)
        return [each for each in found if each]

    return lambda *options, **more: deepcopy(documents(*options, **more))


def grants(objects: list[Object], account: str) -> Iterator[tuple[str, tuple[str, str, str], str]]:
    """(namespace, (API group, resource or path, verb), the one name that it is for, if any) of each right that is bound
    to the account."""
    roles = {(each["kind"], where_of(each), each["metadata"]["name"]): each for each in objects if "rules" in each}
    for binding in (each for each in objects if "roleRef" in each):
        if not any(subject["name"] == account for subject in binding["subjects"]):
            continue
        ref, where = binding["roleRef"], where_of(binding)
        role = roles[ref["kind"], CLUSTER if ref["kind"] == "ClusterRole" else where, ref["name"]]
        for rule in role["rules"]:
            names = rule.get("resourceNames", [""])
            for group, resource, verb, name in product(rule["apiGroups"], rule["resources"], rule["verbs"], names):
                yield where, (group, resource, verb), name


def one(objects: list[Object], kind: str, name: str = "") -> Object:
    """The object of a kind, of that name where the kind comes more than once."""
    (found,) = (each for each in objects if each["kind"] == kind and name in ("", each["metadata"]["name"]))
    return found


def arguments(objects: list[Object]) -> list[str]:
    """The flags of musterd."""
    found: list[str] = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    return found


def is_restricted(spec: Object) -> bool:
    """Whether a pod of one container satisfies the Pod Security profile restricted."""
    ((container,), of_pod) = spec["containers"], spec["securityContext"]
    of_container = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    as_no_root = of_pod["runAsNonRoot"] is True and of_pod["seccompProfile"] == {"type": "RuntimeDefault"}
    return as_no_root and container["securityContext"] == of_container
