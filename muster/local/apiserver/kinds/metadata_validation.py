"""Validation of metadata: names, labels, owner references.

Rules from apimachinery pkg/util/validation and pkg/api/validation.
"""

import re
from collections.abc import Callable
from typing import Any

from muster.local.apiserver.errors import Cause, required, wrong

Json = dict[str, Any]
Rule = Callable[[str, str], list[Cause]]
"""Function that returns the faults of a text in a field."""
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


def _rule(pattern: str, longest: int, what: str) -> Rule:
    compiled = re.compile(pattern)

    def check(field: str, text: str) -> list[Cause]:
        if len(text) > longest:
            return [wrong(field, text, f"must be no more than {longest} characters")]
        return [] if compiled.fullmatch(text) else [wrong(field, text, f"{what} (regex: '{pattern}')")]

    return check


label_1123: Rule = _rule(_LABEL, 63, "a lowercase RFC 1123 label must consist of a-z, 0-9 and '-'")
"""Names of namespaces, containers and ports, and host names."""
subdomain: Rule = _rule(rf"{_LABEL}(\.{_LABEL})*", 253, "a lowercase RFC 1123 subdomain must consist of DNS labels")
"""Most object names."""
label_1035: Rule = _rule("[a-z]([-a-z0-9]*[a-z0-9])?", 63, "a DNS-1035 label must start with a-z")
"""Names of Services."""
_name_part: Rule = _rule(_NAME, 63, "name part must consist of alphanumeric characters, '-', '_' or '.'")
_label_value: Rule = _rule(f"({_NAME})?", 63, "a valid label must be empty or consist of alphanumeric characters")


def _qualified(field: str, key: str) -> list[Cause]:
    """Validate a key: an optional DNS subdomain and '/', then a name."""
    prefix, slash, name = key.rpartition("/")
    causes = subdomain(field, prefix) if slash else []
    return causes + _name_part(field, name)


def metadata_types(meta: Json) -> str:
    """Return the first field of the metadata that has a wrong type, as a message; empty if there is none."""
    for name in ("name", "generateName", "namespace", "uid", "resourceVersion"):
        if not isinstance(meta.get(name, ""), str | None):
            return f"metadata.{name} must be a string"
    for name in ("labels", "annotations"):
        pairs = meta.get(name)
        if pairs is not None and not (isinstance(pairs, dict) and all(isinstance(v, str) for v in pairs.values())):
            return f"metadata.{name} must be a map of strings; quote numbers and booleans"
    for name, inner in (("finalizers", str), ("ownerReferences", dict)):
        items = meta.get(name)
        if items is not None and not (isinstance(items, list) and all(isinstance(i, inner) for i in items)):
            return f"metadata.{name} must be a list of {'strings' if inner is str else 'objects'}"
    return ""


def check_metadata(meta: Json, plural: str, group: str) -> list[Cause]:
    """Validate the metadata of an object."""
    name = meta.get("name") or ""
    if not name:
        return [required("metadata.name", "name or generateName is required")]
    rule = {"namespaces": label_1123, "services": label_1035}.get(plural, subdomain) if not group else subdomain
    causes = rule("metadata.name", name)
    for key, value in (meta.get("labels") or {}).items():
        causes += _qualified("metadata.labels", key) + _label_value("metadata.labels", value)
    for index, owner in enumerate(meta.get("ownerReferences") or ()):
        for part in ("apiVersion", "kind", "name", "uid"):
            if not isinstance(owner.get(part), str) or not owner[part]:
                causes.append(required(f"metadata.ownerReferences[{index}].{part}", "must not be empty"))
    return causes
