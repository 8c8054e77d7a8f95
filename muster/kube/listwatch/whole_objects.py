"""The decoder of objects that are wanted whole, as plain dictionaries with their uid and resourceVersion."""

from collections.abc import Mapping
from typing import Any

from muster.kube.listwatch.decoder import Projection, version_of
from muster.kube.unstructured import Json, mapping, text


class Unstructured(Json):
    """An object as the API server sent it."""

    __slots__ = ("resource_version", "uid")

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Raises ValueError for an object without uid or resourceVersion."""
        super().__init__(document)
        metadata = mapping(document.get("metadata"))
        self.uid = text(metadata, "uid")
        self.resource_version = version_of(text(metadata, "resourceVersion"))
        if not self.uid:
            raise ValueError("an object without a uid")


def unstructured(kind: str) -> Projection[Json, Unstructured]:
    """The decoder of a list or a watch whose objects are wanted whole; ``kind`` is for messages."""
    return Projection(kind, Json, Unstructured)
