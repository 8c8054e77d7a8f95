"""Representations of an object: JSON in the requested API version, PartialObjectMetadata, or Table."""

from __future__ import annotations

from typing import Any, Literal

from muster.local.apiserver.kinds.events import to_view
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.storage.stored_objects import StoredObject, encode

Json = dict[str, Any]
Form = Literal["json", "table", "partial"]


def accepted_form(accept: str) -> Form:
    """The first supported representation in an Accept header."""
    for part in accept.split(","):
        fields = part.split(";")
        if fields[0].strip() not in ("application/json", "*/*", ""):
            continue
        parameters = dict(f.strip().partition("=")[::2] for f in fields[1:])
        match parameters.get("as"):
            case "Table":
                if parameters.get("v") in ("v1", "v1beta1"):
                    return "table"
            case "PartialObjectMetadata" | "PartialObjectMetadataList":
                return "partial"
            case None:
                return "json"
    return "json"


def converted(resource: Resource, stored: StoredObject) -> Json:
    """The object in the API version of a resource."""
    obj = stored.object()
    if resource.group == "events.k8s.io":
        return to_view(obj)
    obj["apiVersion"] = resource.api_version
    return obj


def encode_object(resource: Resource, stored: StoredObject, form: Form = "json") -> bytes:
    """The object as JSON; the stored bytes themselves if they need no conversion."""
    if form == "partial":
        return encode(partial(stored.object()))
    if resource.api_version == resource.storage_version:
        return stored.data
    return encode(converted(resource, stored))


def partial(obj: Json) -> Json:
    """The object's PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def list_of(resource: Resource, items: list[bytes], metadata: Json, form: Form = "json") -> bytes:
    """A list of encoded objects."""
    if form == "partial":
        head = b'{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":'
    else:
        head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
    return b"".join((head, encode(metadata), b',"items":[', b",".join(items), b"]}"))
