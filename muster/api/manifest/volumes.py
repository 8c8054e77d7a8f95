"""Checks of ``spec.storage`` that need more than one of its fields."""

from collections.abc import Iterator

from muster.api.manifest.aichor import Storage
from muster.api.manifest.policies.gates import Refused


def refused_volumes(storage: Storage | None, members: int) -> Iterator[Refused]:
    """Two volumes at one place, and a volume that one pod alone may mount for several."""
    if storage is None:
        return
    places: set[str] = set()
    shared = storage.shared_volume
    if shared is not None:
        places.add(shared.mount_point)
        if shared.access_mode == "ReadWriteOncePod" and members > 1:
            message = f"ReadWriteOncePod lets one pod mount the volume, and {members} members would"
            yield Refused(("storage", "sharedVolume", "accessMode"), message, "write ReadWriteMany")
    for number, claim in enumerate(storage.attach_existing_pvcs):
        if claim.mount_point in places:
            loc = ("storage", "attachExistingPVCs", number, "mountPoint")
            yield Refused(loc, f"another volume is mounted at {claim.mount_point}", "choose another path")
        places.add(claim.mount_point)
