"""How an object is shown: under the version asked for, whole or its metadata only; and which form a client accepts."""

from __future__ import annotations

from typing import Any, Literal

from muster.local.apiserver.kinds.events import to_view
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.storage.stored_objects import StoredObject, encode

Json = dict[str, Any]
Form = Literal["json", "table", "partial"]


def accepted_form(accept: str) -> Form:
    """The first form in an Accept header that is served here."""
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


def whole(resource: Resource, stored: StoredObject) -> Json:
    """The object under the version of a resource."""
    obj = stored.object()
    if resource.group == "events.k8s.io":
        return to_view(obj)
    obj["apiVersion"] = resource.api_version
    return obj


def show(resource: Resource, stored: StoredObject, form: Form = "json") -> bytes:
    """The JSON of an object in a form; the kept bytes themselves wherever that will do."""
    if form == "partial":
        return encode(partial(stored.object()))
    if resource.api_version == resource.storage_version:
        return stored.data
    return encode(whole(resource, stored))


def partial(obj: Json) -> Json:
    """A PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def list_of(resource: Resource, items: list[bytes], metadata: Json, form: Form = "json") -> bytes:
    """A list of shown objects."""
    if form == "partial":
        head = b'{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":'
    else:
        head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
    return b"".join((head, encode(metadata), b',"items":[', b",".join(items), b"]}"))
