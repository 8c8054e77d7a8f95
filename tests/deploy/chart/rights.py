"""The rights that a rendering grants to one service account."""

from collections.abc import Iterator

from tests.deploy.chart.conftest import Object

Right = tuple[str, str, str]
"""(API group, resource or path, verb)."""
CLUSTER = ""
"""In place of a namespace: granted in all of them."""


def grants(objects: list[Object], account: str) -> Iterator[tuple[str, Right, str]]:
    """(namespace, right, the one name that it is for, if any) of each right that is bound to the account."""
    roles = {(each["kind"], _where(each), each["metadata"]["name"]): each for each in objects if "rules" in each}
    for binding in (each for each in objects if "roleRef" in each):
        if not any(subject["name"] == account for subject in binding["subjects"]):
            continue
        ref, where = binding["roleRef"], _where(binding)
        role = roles[ref["kind"], CLUSTER if ref["kind"] == "ClusterRole" else where, ref["name"]]
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        for name in rule.get("resourceNames", [""]):
                            yield where, (group, resource, verb), name


def _where(each: Object) -> str:
    return str(each["metadata"].get("namespace", CLUSTER))
