"""metav1, as far as watchers read it: which object it is, whether it is being deleted, and who controls it."""

from typing import TypedDict

import msgspec

from muster.kube.listwatch.decoder import version_of


class Owner(msgspec.Struct, gc=False):
    """metav1.OwnerReference."""

    uid: str | None = None
    controller: bool | None = None


class Metadata(msgspec.Struct, gc=False):
    """metav1.ObjectMeta."""

    uid: str
    name: str
    resourceVersion: str  # noqa: N815 - the wire's names
    namespace: str | None = None
    generation: int | None = None
    deletionTimestamp: str | None = None  # noqa: N815
    finalizers: list[str] | None = None


class OwnedMetadata(Metadata, gc=False):
    """The same with the owners."""

    ownerReferences: list[Owner] | None = None  # noqa: N815

    @property
    def owner(self) -> str:
        """The uid of the controller; empty if there is none."""
        return next((each.uid or "" for each in self.ownerReferences or () if each.controller), "")


class Identity(TypedDict):
    """What every record of an object has."""

    uid: str
    name: str
    namespace: str
    resource_version: int


def identity(metadata: Metadata, what: str) -> Identity:
    """Return which object it is. Raises ValueError for ``what`` (``a Service``) without uid, name or version."""
    if not metadata.uid or not metadata.name:
        raise ValueError(f"{what} without uid or name")
    return Identity(
        uid=metadata.uid,
        name=metadata.name,
        namespace=metadata.namespace or "",
        resource_version=version_of(metadata.resourceVersion),
    )
