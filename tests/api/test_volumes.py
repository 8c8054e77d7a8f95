"""spec.storage: what cannot be mounted is refused with its place."""

from typing import Any

import pytest

from tests.api.test_manifest_rules import complaint, manifest

SHARED: dict[str, Any] = {"mountPoint": "/data", "sizeGB": 5}


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        (
            {"sharedVolume": SHARED, "attachExistingPVCs": [{"name": "a", "mountPoint": "/data"}]},
            "spec.storage.attachExistingPVCs[0].mountPoint: another volume is mounted at /data, choose another path",
        ),
        (
            {"attachExistingPVCs": [{"name": "a", "mountPoint": "/x"}, {"name": "b", "mountPoint": "/x"}]},
            "spec.storage.attachExistingPVCs[1].mountPoint: another volume is mounted at /x",
        ),
        (
            {"sharedVolume": {**SHARED, "accessMode": "ReadWriteOncePod"}},
            "spec.storage.sharedVolume.accessMode: ReadWriteOncePod lets one pod mount the volume, and 2 members would",
        ),
        ({"sharedVolume": {"mountPoint": "/data"}}, "spec.storage.sharedVolume.sizeGB: a required field is missing"),
    ],
)
def test_a_volume_that_cannot_be_mounted_is_refused(storage: dict[str, Any], said: str) -> None:
    types = {"worker": {"count": 2, "resources": {"ramRatio": 2}}}
    text = manifest(types=types, storage=storage)
    assert said in complaint(text)
    assert "m.yaml:" in complaint(text)
