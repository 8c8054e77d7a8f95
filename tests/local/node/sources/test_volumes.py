"""Volumes: content, errors, and mounts."""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from muster.local.node.objects import Object
from muster.local.node.sources.environment import ConfigError, ConfigSources, PodPlacement
from muster.local.node.sources.volumes import make_volumes, memory_volumes, mounts_of, volume_variables
from tests.local.node.harness import Pod, pod

MakeVolumes = Callable[..., Awaitable[dict[str, dict[str, Any]]]]


class FakeSources(ConfigSources):
    """A ConfigMap `settings` and a Secret `keys`, claims, and tokens."""

    def __init__(self, settings: Mapping[str, str] | None = None, keys: Mapping[str, bytes] | None = None) -> None:
        self.settings = {"train.yaml": "lr: 1", "b": "2"} if settings is None else settings
        self.keys = keys or {"key": b"secret"}
        self.claims: dict[str, str] = {}
        self.asked: list[tuple[str, str, int]] = []
        self.issues = True

    async def get(self, namespace: str, plural: str, name: str) -> Pod | None:
        known: dict[tuple[str, str], Pod] = {
            ("configmaps", "settings"): {"data": self.settings},
            ("secrets", "keys"): {"data": {key: b64encode(value).decode() for key, value in self.keys.items()}},
            **{("persistentvolumeclaims", each): {"metadata": {"uid": uid}} for each, uid in self.claims.items()},
        }
        return known.get((plural, name))

    async def token(self, pod: Object, audience: str, seconds: int) -> str | None:
        self.asked.append((pod["metadata"]["name"], audience, seconds))
        return f"token {len(self.asked)}" if self.issues else None


def placed(*volumes: Pod) -> PodPlacement:
    """A pod with these volumes on a node."""
    return PodPlacement(pod("p", volumes=list(volumes)), "local", "10.0.0.2", "10.0.0.1")


@pytest.fixture
def make(tmp_path: Path) -> MakeVolumes:
    return lambda *volumes: make_volumes(tmp_path / "volumes", placed(*volumes), FakeSources())


async def test_config_map_secret_and_downward_api_volumes_hold_files(make: MakeVolumes, tmp_path: Path) -> None:
    await make(
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "one", "configMap": {"name": "settings", "items": [{"key": "b", "path": "deep/c"}]}},
        {"name": "keys", "secret": {"secretName": "keys"}},
        {"name": "me", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    )
    volumes = tmp_path / "volumes"
    assert (volumes / "settings" / "train.yaml").read_text() == "lr: 1"
    assert (volumes / "one" / "deep" / "c").read_text() == "2"
    assert not (volumes / "one" / "b").exists()
    assert (volumes / "keys" / "key").read_bytes() == b"secret"
    assert (volumes / "me" / "name").read_text() == "p"


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "nope"}}, 'configmap "nope" not found'),
        ({"configMap": {"name": "settings", "items": [{"key": "b", "path": "../c"}]}}, "must stay inside"),
        ({"configMap": {"name": "settings", "items": [{"key": "z", "path": "c"}]}}, "non-existent config key: z"),
        ({"hostPath": {"path": "/no/such/folder"}}, "does not exist on this machine"),
        ({"persistentVolumeClaim": {"claimName": "data"}}, 'persistentvolumeclaim "data" not found'),
        ({"projected": {"sources": [{"clusterTrustBundle": {}}]}}, "cannot project clusterTrustBundle"),
        ({"nfs": {"server": "a", "path": "/"}}, "no nfs volumes; use emptyDir"),
        ({"emptyDir": {"medium": "Memory", "sizeLimit": "lots"}}, "sizeLimit"),
    ],
)
async def test_a_volume_that_cannot_be_created_is_an_error(make: MakeVolumes, volume: Pod, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        await make({"name": "v"} | volume)


async def test_a_memory_volume_is_a_tmpfs_of_the_requested_size(make: MakeVolumes, tmp_path: Path) -> None:
    volumes = await make({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}})
    assert memory_volumes(volumes) == [(str(tmp_path / "volumes" / "shm"), 64 * 1024 * 1024)]


async def test_mounts_have_a_source_and_sub_paths_stay_inside_the_volume(make: MakeVolumes, tmp_path: Path) -> None:
    volumes = await make({"name": "my-data", "emptyDir": {}}, {"name": "settings", "configMap": {"name": "settings"}})
    folder = tmp_path / "volumes"
    mounts = mounts_of(
        {
            "volumeMounts": [
                {"name": "my-data", "mountPath": "/data", "subPath": "run/1"},
                {"name": "settings", "mountPath": "/etc/train.yaml", "subPath": "train.yaml"},
            ]
        },
        volumes,
    )
    assert [(each["target"], each["source"], each["file"], each["read_only"]) for each in mounts] == [
        ("/data", str(folder / "my-data" / "run" / "1"), False, False),
        ("/etc/train.yaml", str(folder / "settings" / "train.yaml"), True, True),
    ]
    with pytest.raises(ConfigError, match="must stay inside"):
        mounts_of({"volumeMounts": [{"name": "my-data", "mountPath": "/d", "subPath": "../.."}]}, volumes)
    with pytest.raises(ConfigError, match="names no volume"):
        mounts_of({"volumeMounts": [{"name": "other", "mountPath": "/d"}]}, volumes)
    assert volume_variables(volumes)["MUSTER_VOLUME_MY_DATA"] == str(folder / "my-data")


API_ACCESS: Pod = {
    "name": "kube-api-access-x7k2p",
    "projected": {
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {"name": "settings", "items": [{"key": "b", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
            {"secret": {"name": "keys"}},
        ]
    },
}


async def test_a_projected_volume_holds_the_files_of_all_its_sources(tmp_path: Path) -> None:
    sources = FakeSources()
    made = await make_volumes(tmp_path, placed(API_ACCESS), sources)
    folder = tmp_path / API_ACCESS["name"]
    assert {each.name: each.read_text() for each in folder.iterdir()} == {
        "token": "token 1",
        "ca.crt": "2",
        "namespace": "default",
        "key": "secret",
    }
    assert sources.asked == [("p", "", 3607)]
    assert made[API_ACCESS["name"]]["read_only"]
    assert folder.stat().st_mode & 0o077 == 0


async def test_without_tokens_the_volume_of_admission_is_empty_and_another_is_an_error(tmp_path: Path) -> None:
    sources = FakeSources()
    sources.issues = False
    vault = {"name": "vault", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    with pytest.raises(ConfigError, match="'vault': the local cluster issues no service account tokens"):
        await make_volumes(tmp_path, placed(API_ACCESS, vault), sources)
    assert list((tmp_path / API_ACCESS["name"]).iterdir()) == []


@pytest.mark.parametrize("name", ["..", ".", "a/b", "", "A", "-a", "a-", "a" * 64])
async def test_a_volume_name_that_is_no_dns_label_makes_no_folder(make: MakeVolumes, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="is not a DNS label"):
        await make({"name": name, "emptyDir": {}})
    assert not (tmp_path / "volumes").exists()


async def test_a_claim_is_a_folder_that_pods_share_and_that_goes_with_it(tmp_path: Path) -> None:
    sources = FakeSources()
    sources.claims = {"data": "uid-1"}
    volume = {"name": "claim-0", "persistentVolumeClaim": {"claimName": "data"}}

    async def mounted(wanted: str) -> Path:
        made = await make_volumes(tmp_path / "pods" / wanted / "volumes", placed(volume), sources)
        return Path(made["claim-0"]["source"])

    first = await mounted("a")
    (first / "checkpoint").write_text("7")
    assert (await mounted("b") / "checkpoint").read_text() == "7"
    sources.claims = {"data": "uid-2"}  # deleted, and made again under its name
    other = await mounted("c")
    assert list(other.iterdir()) == []
    assert not first.exists()
