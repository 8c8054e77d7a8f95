"""Representations of an object: JSON in the requested API version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muster.local.apiserver.kinds.resources import Resource, converted
from muster.local.apiserver.storage.stored_objects import StoredObject, encode

Json = dict[str, Any]


def encode_object(resource: Resource, stored: StoredObject) -> bytes:
    """The object as JSON; the stored bytes themselves if they need no conversion."""
    return stored.data if resource.api_version == resource.storage_version else encode(converted(resource, stored))


def list_of(resource: Resource, items: Sequence[StoredObject], metadata: Json) -> bytes:
    """A list of objects."""
    head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
    encoded = b",".join(encode_object(resource, stored) for stored in items)
    return b"".join((head, encode(metadata), b',"items":[', encoded, b"]}"))
