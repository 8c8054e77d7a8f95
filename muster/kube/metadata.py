"""The fields of an answer that are read; all others are skipped without being built.

Only the metadata of a write's answer matters, and decoding a whole pod costs many times its create.
"""

from typing import TypeVar

import msgspec

from muster.api.errors import ApiError
from muster.kube.transport import Answer

T = TypeVar("T")


class OwnerReference(msgspec.Struct, frozen=True, gc=False):
    """metav1 OwnerReference."""

    uid: str
    name: str = ""
    kind: str = ""
    api_version: str = msgspec.field(name="apiVersion", default="")
    controller: bool = False


class Metadata(msgspec.Struct, frozen=True, gc=False):
    """metav1 ObjectMeta."""

    name: str = ""
    uid: str = ""
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    deletion_timestamp: str | None = msgspec.field(name="deletionTimestamp", default=None)
    owners: tuple[OwnerReference, ...] | None = msgspec.field(name="ownerReferences", default=None)
    labels: dict[str, str] | None = None
    generation: int = 0

    @property
    def version(self) -> int:
        """The resourceVersion as a number, 0 if there is none. Numbers compare (Kubernetes KEP-5504)."""
        text = self.resource_version
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else 0

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object, if it has one."""
        return next((owner for owner in self.owners or () if owner.controller), None)


class Object(msgspec.Struct, frozen=True, gc=False):
    """Any object, reduced to its metadata (also a Status, which has none)."""

    metadata: Metadata = Metadata()


def read(answer: Answer, kind: type[T], request: str) -> T:
    """Decode an answer. Raises ``ApiError``, which names ``request``, for one without the form of the API."""
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(
            f"the API server's answer cannot be read: {error}",
            status=answer.status,
            reason="Unreadable",
            request=request,
        ) from error
