"""The rights that a rendering of the chart grants, and the table of docs/platform.md that is made of them.

The reason of a right is the comment behind the resources of its rule in the template: it is where the right is given,
and in deploy/musterd.yaml, too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from deploy.helm.manifests import SYSTEM, render
from deploy.helm.pages import HEAD

Object = dict[str, Any]
CLUSTER = ""
"""In place of a namespace: granted in all of them."""

GRANTING = {
    "": "",
    "settings.runKinds": "settings.runKinds=jaxjobs",
    "settings.nodeHistory": "settings.nodeHistory=true",
    "settings.nodeLabels": "settings.nodeLabels=true",
    "watch.kinds": "watch.kinds=all",
    "watch.deadlines": "watch.kinds=all,watch.deadlines=true",
    "kueue.enabled": "kueue.enabled=true",
    "prune.enabled": "prune.enabled=true",
}
"""Each value that goes with rights of its own, as it is set."""
ONE = "lab"
WHERE = {ONE: "", CLUSTER: ", in the cluster", SYSTEM: ", in its own namespace"}
ACCOUNTS = {"musterd", "musterd-prune"}
BEGIN = f"<!-- {HEAD.removeprefix('# ').replace('values.py', 'rights.py')} -->"
_RESOURCES = re.compile(r"^ *resources: \[[^]]*\](?: # (.*))?$", re.MULTILINE)


class NoReason(Exception):
    """A rule of the chart without its purpose."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rule of a role of musterd."""

    resources: tuple[str, ...]
    """As `kubectl auth can-i` names them: pods, jobs.batch."""
    verbs: tuple[str, ...]
    where: str
    named: bool
    reason: str


def rows(rendered: str) -> Iterator[Row]:
    """Yield the rules of each role that is bound to a service account of musterd. Raises NoReason."""
    parts = [(yaml.safe_load(text), text) for text in rendered.split("---\n")]
    bound = {
        (each["roleRef"]["kind"], each["roleRef"]["name"]): where_of(each)
        for each, _ in parts
        if each and "roleRef" in each and ACCOUNTS & {subject["name"] for subject in each["subjects"]}
    }
    for each, text in parts:
        if not each or (each["kind"], each["metadata"]["name"]) not in bound:
            continue
        where = bound[each["kind"], each["metadata"]["name"]]
        for rule, reason in zip(each["rules"], _RESOURCES.findall(text), strict=True):
            names = tuple(
                ".".join(filter(None, (name, group))) for group in rule["apiGroups"] for name in rule["resources"]
            )
            if not reason:
                raise NoReason(f"{', '.join(names)}: write what the right is for behind `resources` in the template")
            yield Row(names, tuple(rule["verbs"]), where, "resourceNames" in rule, reason)


def table(helm: Path) -> str:
    """Return a line for each rule, with the value that it goes with; rules that differ only in resources are one."""
    lines: list[str] = []
    before: list[str] = []
    seen: set[Row] = set()
    for value, options in GRANTING.items():
        found = rows(render(helm, "--set", f"settings.namespace={ONE}" + (f",{options}" if options else "")))
        alike: dict[Row, list[str]] = {}
        for row in dict.fromkeys(found):
            if row not in seen:
                seen.add(row)
                alike.setdefault(Row((), row.verbs, row.where, row.named, row.reason), []).extend(row.resources)
        for row, resources in alike.items():
            where = WHERE[row.where] + (", by name" if row.named else "")
            asked = f" (`{value}`)" if value else ""
            what = "the same" if resources == before and len(resources) > 1 else ", ".join(resources)
            lines.append(f"- {', '.join(row.verbs)} of {what}{where}{asked}: {row.reason}")
            before = resources
    return "\n".join(lines)


def where_of(each: Object) -> str:
    """Return the namespace of an object, or ``CLUSTER``."""
    return str(each["metadata"].get("namespace", CLUSTER))
