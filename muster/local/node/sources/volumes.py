"""The volumes of a pod, which are folders in its directory, and their mounts in containers.

In a mount namespace a volumeMount is a bind mount, and an emptyDir of medium Memory is a tmpfs of the requested size.
Without one nothing can be mounted; containers then get the folder of volume `my-data` in `MUSTER_VOLUME_MY_DATA`.

The service account tokens in projected volumes are renewed (pkg/kubelet/token).
"""

import re
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import structlog

from muster.api.values.quantities import QuantityError, parse_quantity
from muster.local.node import objects
from muster.local.node.objects import Object
from muster.local.node.sources.environment import ConfigError, ConfigSources, PodPlacement, read_config_map, read_secret

LOG = structlog.get_logger("muster.local.node")
API_ACCESS = "kube-api-access-"
"""The name of the volume that the admission plugin ServiceAccount adds begins with it."""
TOKEN_SECONDS = 3600
"""The life of a token whose source names none (pkg/apis/core/v1/defaults.go)."""
CLAIMS = "claims"
"""The folder with the files of claims, beside that of the pods."""
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A DNS label (RFC 1123): never ``.`` or ``..``, which would leave the pod's directory."""


async def make_volumes(folder: Path, placement: PodPlacement, sources: ConfigSources) -> dict[str, dict[str, Any]]:
    """Create the volumes of a pod. Returns, by name, the source of the mount and the size of a tmpfs."""
    made: dict[str, dict[str, Any]] = {}
    for volume in objects.spec(placement.pod).get("volumes") or ():
        name = str(volume.get("name"))
        if not _NAME.fullmatch(name):
            raise ConfigError(f"volume name {name!r} is not a DNS label")
        home = folder / name
        home.mkdir(parents=True, exist_ok=True)
        made[name] = await _make(volume, home, placement, sources)
    return made


async def _make(volume: Object, home: Path, placement: PodPlacement, sources: ConfigSources) -> dict[str, Any]:
    if (empty := volume.get("emptyDir")) is not None:
        _permit(home, 0o777)
        if empty.get("medium") == "Memory":
            return {"source": str(home), "tmpfs": True, "size": _bytes(empty.get("sizeLimit"))}
        return {"source": str(home)}
    if (reference := volume.get("hostPath")) is not None:
        return _host_path(reference, str(volume.get("name")))
    if (reference := volume.get("persistentVolumeClaim")) is not None:
        return await _claim(reference, objects.namespace(placement.pod), home.parents[3] / CLAIMS, sources)
    if not volume.keys().isdisjoint(("secret", "projected")):
        _permit(home, 0o700)
    if "projected" in volume:
        await project(volume, home, placement, sources)
    elif not await _write_files(volume, home, placement, sources):
        kind = next((key for key in volume if key != "name"), "?")
        raise ConfigError(
            f"volume {volume.get('name')!r}: the local node has no {kind} volumes; use emptyDir, configMap, secret, "
            f"downwardAPI, projected, hostPath or persistentVolumeClaim"
        )
    return {"source": str(home), "read_only": True}


async def project(volume: Object, home: Path, placement: PodPlacement, sources: ConfigSources) -> None:
    """Write the files of a projected volume.

    The volume that admission adds to every pod stays empty on a node whose API server issues no tokens.
    """
    for source in volume["projected"].get("sources") or ():
        if (reference := source.get("serviceAccountToken")) is not None:
            seconds = int(reference.get("expirationSeconds") or TOKEN_SECONDS)
            token = await sources.token(placement.pod, str(reference.get("audience") or ""), seconds)
            if token is None and str(volume.get("name")).startswith(API_ACCESS):
                return
            if token is None:
                raise ConfigError(f"volume {volume.get('name')!r}: the local cluster issues no service account tokens")
            _put(home, str(reference.get("path")), token.encode())
        elif not await _write_files(source, home, placement, sources):
            raise ConfigError(f"volume {volume.get('name')!r}: the local node cannot project {', '.join(source)}")


async def _write_files(source: Object, home: Path, placement: PodPlacement, sources: ConfigSources) -> bool:
    """Write the files of a ConfigMap, a Secret or the downward API; False for a source of another kind."""
    namespace = objects.namespace(placement.pod)
    if (reference := source.get("configMap")) is not None:
        texts = await read_config_map(reference, namespace, sources)
        _fill(home, {key: value.encode(errors="replace") for key, value in texts.items()}, reference)
    elif (reference := source.get("secret")) is not None:
        _fill(home, await read_secret(reference, namespace, sources), reference)
    elif (reference := source.get("downwardAPI")) is not None:
        _fill_downward(home, placement, reference)
    else:
        return False
    return True


async def _claim(reference: Object, namespace: str, claims: Path, sources: ConfigSources) -> dict[str, Any]:
    """Return the folder of a claim, named by its uid. Folders of claims that are gone are removed on this occasion.

    There is one node, so a folder is all that a volume must be; its size and class are not looked at.
    """
    name = str(reference.get("claimName"))
    found = await sources.get(namespace, "persistentvolumeclaims", name)
    if found is None:
        raise ConfigError(f'persistentvolumeclaim "{name}" not found')
    await _remove_unclaimed(claims, sources)
    home = claims / objects.uid(found)
    home.mkdir(parents=True, exist_ok=True)
    _permit(home, 0o777)
    (claims / f"{home.name}.claim").write_text(f"{namespace}/{name}", encoding="utf-8")
    return {"source": str(home), "read_only": bool(reference.get("readOnly"))}


async def _remove_unclaimed(claims: Path, sources: ConfigSources) -> None:
    for note in _notes(claims):
        namespace, _, name = note.read_text(encoding="utf-8").partition("/")
        found = await sources.get(namespace, "persistentvolumeclaims", name)
        if found is None or objects.uid(found) != note.stem:
            shutil.rmtree(note.with_suffix(""), ignore_errors=True)
            note.unlink(missing_ok=True)


def _notes(claims: Path) -> list[Path]:
    """Return the files that name the owner of each folder: ``<uid>.claim``."""
    return list(claims.glob("*.claim"))


def _permit(home: Path, mode: int) -> None:
    home.chmod(mode)


def _host_path(reference: Object, name: str) -> dict[str, Any]:
    path = Path(str(reference.get("path")))
    if reference.get("type") == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        raise ConfigError(f"hostPath volume {name!r}: {path} does not exist on this machine")
    return {"source": str(path)}


def _fill(home: Path, data: Mapping[str, bytes], reference: Object) -> None:
    items = reference.get("items")
    for item in items if items is not None else ({"key": key, "path": key} for key in data):
        key = str(item.get("key"))
        if key in data:
            _put(home, str(item.get("path")), data[key])
        elif not reference.get("optional"):
            raise ConfigError(f"references non-existent config key: {key}")


def _fill_downward(home: Path, placement: PodPlacement, reference: Object) -> None:
    for item in reference.get("items") or ():
        field = str((item.get("fieldRef") or {}).get("fieldPath"))
        _put(home, str(item.get("path")), placement.field(field).encode(errors="replace"))


def _put(home: Path, path: str, value: bytes) -> None:
    """Write a file in one step: a token is replaced while the pod reads it."""
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or not all(_KEY.fullmatch(part) for part in parts.parts):
        raise ConfigError(f"volume path {path!r} must stay inside the volume")
    (home / parts).parent.mkdir(parents=True, exist_ok=True)
    new = (home / parts).with_name(f".{parts.name}.new")
    new.write_bytes(value)
    new.replace(home / parts)


def mounts_of(container: Object, volumes: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the mounts of a container, for the launcher."""
    made: list[dict[str, Any]] = []
    for mount in container.get("volumeMounts") or ():
        name = str(mount.get("name"))
        if name not in volumes:
            raise ConfigError(f"volumeMount {name!r} names no volume of the pod")
        volume = volumes[name]
        target = str(PurePosixPath("/", str(mount.get("mountPath"))))
        entry = {"target": target, "source": volume["source"]}
        entry["read_only"] = bool(mount.get("readOnly") or volume.get("read_only"))
        if sub := str(mount.get("subPath") or ""):
            entry |= _sub_path(sub, volume, name)
        else:
            entry["file"] = Path(volume["source"]).is_file()
        made.append(entry)
    return made


def _sub_path(sub: str, volume: Mapping[str, Any], name: str) -> dict[str, Any]:
    parts = PurePosixPath(sub)
    if parts.is_absolute() or ".." in parts.parts:
        raise ConfigError(f"volumeMount {name!r}: subPath {sub!r} must stay inside the volume")
    path = Path(volume["source"]) / parts
    if not path.exists():
        path.mkdir(parents=True)
    return {"source": str(path), "file": path.is_file()}


def memory_volumes(volumes: Mapping[str, dict[str, Any]]) -> list[tuple[str, int | None]]:
    """Return the volumes that are a tmpfs: folder and size in bytes."""
    return [(each["source"], each["size"]) for each in volumes.values() if each.get("tmpfs")]


def volume_variables(volumes: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """Return the variables with the folders of the volumes, for pods without mounts."""
    return {
        f"MUSTER_VOLUME_{re.sub('[^A-Z0-9]', '_', name.upper())}": volume["source"] for name, volume in volumes.items()
    }


def _bytes(text: object) -> int | None:
    if text is None:
        return None
    try:
        return int(parse_quantity(str(text)))
    except QuantityError as error:
        raise ConfigError(f"emptyDir.sizeLimit: {error}") from error


SHARE = 0.8
"""The share of its life after which a token is replaced."""


def lifetime(volume: Object) -> float | None:
    """Return seconds that the first token of a volume to expire lives; None for a volume without tokens."""
    sources = (volume.get("projected") or {}).get("sources") or ()
    tokens = [each["serviceAccountToken"] for each in sources if each.get("serviceAccountToken") is not None]
    return min((float(each.get("expirationSeconds") or TOKEN_SECONDS) for each in tokens), default=None)


async def renew_tokens(
    folder: Path,
    placement: PodPlacement,
    sources: ConfigSources,
    pause: Callable[[float], Awaitable[bool]],
    retry: float,
) -> None:
    """Write the volumes with tokens again before these expire, until `pause` ends, because the pod stops."""
    volumes = [each for each in objects.spec(placement.pod).get("volumes") or () if lifetime(each) is not None]
    if not volumes:
        return
    rest = due = SHARE * min(lifetime(each) or TOKEN_SECONDS for each in volumes)
    while not await pause(rest):
        try:
            for volume in volumes:
                await project(volume, folder / str(volume["name"]), placement, sources)
            rest = due
        except ConfigError as error:
            pod = objects.key(placement.pod)
            LOG.warning("service account token not renewed, retrying", pod=pod, error=str(error))
            rest = retry
