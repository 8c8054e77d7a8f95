"""Validation of metadata: names, labels, annotations, finalizers, owner references.

Rules from apimachinery pkg/util/validation and pkg/api/validation.
"""

from __future__ import annotations

import re
from typing import Any

from muster.local.apiserver.errors import Cause, required, wrong

Json = dict[str, Any]

_LABEL_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LABEL_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def label_1123(field: str, name: str) -> list[Cause]:
    """Validate a DNS label: names of namespaces, containers and ports, and host names."""
    if len(name) > 63:
        return [wrong(field, name, "must be no more than 63 characters")]
    return [] if _LABEL_1123.fullmatch(name) else [wrong(field, name, _LABEL_RULE)]


def subdomain(field: str, name: str) -> list[Cause]:
    """Validate a DNS subdomain: most object names."""
    if len(name) > 253:
        return [wrong(field, name, "must be no more than 253 characters")]
    return [] if _SUBDOMAIN.fullmatch(name) else [wrong(field, name, _SUBDOMAIN_RULE)]


def label_1035(field: str, name: str) -> list[Cause]:
    """Validate a DNS label that starts with a letter: names of Services."""
    if len(name) > 63:
        return [wrong(field, name, "must be no more than 63 characters")]
    return [] if _LABEL_1035.fullmatch(name) else [wrong(field, name, _LABEL_1035_RULE)]


def _qualified(field: str, key: str) -> list[Cause]:
    prefix, slash, name = key.rpartition("/")
    if slash and (not prefix or "/" in prefix):
        return [wrong(field, key, "a qualified name must consist of an optional DNS subdomain prefix, '/' and a name")]
    causes = subdomain(field, prefix) if slash else []
    if len(name) > 63:
        causes.append(wrong(field, key, "name part must be no more than 63 characters"))
    elif not _QUALIFIED.fullmatch(name):
        causes.append(wrong(field, key, _QUALIFIED_RULE))
    return causes


def metadata_types(meta: Json) -> str:
    """The first field of the metadata that has a wrong type, as a message; empty if there is none."""
    for name in ("name", "generateName", "namespace", "uid", "resourceVersion"):
        if not isinstance(meta.get(name, ""), str | None):
            return f"metadata.{name} must be a string"
    for name in ("labels", "annotations"):
        pairs = meta.get(name)
        if pairs is not None and not (isinstance(pairs, dict) and all(isinstance(v, str) for v in pairs.values())):
            return f"metadata.{name} must be a map of strings; quote numbers and booleans"
    for name in ("finalizers", "ownerReferences"):
        items = meta.get(name)
        inner = str if name == "finalizers" else dict
        if items is not None and not (isinstance(items, list) and all(isinstance(i, inner) for i in items)):
            return f"metadata.{name} must be a list of {'strings' if inner is str else 'objects'}"
    return ""


def check_metadata(meta: Json, plural: str, group: str) -> list[Cause]:
    """Validate the metadata of an object."""
    name = meta.get("name") or ""
    causes: list[Cause] = []
    if not name:
        return [required("metadata.name", "name or generateName is required")]
    if (group, plural) == ("", "namespaces"):
        causes += label_1123("metadata.name", name)
    elif (group, plural) == ("", "services"):
        causes += label_1035("metadata.name", name)
    else:
        causes += subdomain("metadata.name", name)
    for key, value in (meta.get("labels") or {}).items():
        causes += _qualified("metadata.labels", key)
        if len(value) > 63:
            causes.append(wrong("metadata.labels", value, "must be no more than 63 characters"))
        elif not _VALUE.fullmatch(value):
            causes.append(wrong("metadata.labels", value, _VALUE_RULE))
    total = 0
    for key, value in (meta.get("annotations") or {}).items():
        causes += _qualified("metadata.annotations", key.lower())
        total += len(key) + len(value)
    if total > 256 << 10:
        message = f"Too long: may not be more than {256 << 10} bytes"
        causes.append(Cause("metadata.annotations", message, "FieldValueTooLong"))
    for finalizer in meta.get("finalizers") or ():
        causes += _qualified("metadata.finalizers", finalizer)
    controllers = 0
    for index, owner in enumerate(meta.get("ownerReferences") or ()):
        where = f"metadata.ownerReferences[{index}]"
        for part in ("apiVersion", "kind", "name", "uid"):
            if not isinstance(owner.get(part), str) or not owner[part]:
                causes.append(required(f"{where}.{part}", "must not be empty"))
        controllers += owner.get("controller") is True
    if controllers > 1:
        message = "Only one reference can have Controller set to true"
        causes.append(wrong("metadata.ownerReferences", "...", message))
    return causes
