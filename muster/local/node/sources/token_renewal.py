"""Renews the service account tokens in the projected volumes of a pod (pkg/kubelet/token)."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from muster.local.node import objects
from muster.local.node.objects import Object
from muster.local.node.sources.config_sources import ConfigError, VolumeSources
from muster.local.node.sources.downward_api import PodPlacement
from muster.local.node.sources.volumes import TOKEN_SECONDS, project

SHARE = 0.8
"""The share of its life after which a token is replaced."""


def lifetime(volume: Object) -> float | None:
    """Seconds that the first token of a volume to expire lives; None for a volume without tokens."""
    sources = (volume.get("projected") or {}).get("sources") or ()
    tokens = [each["serviceAccountToken"] for each in sources if each.get("serviceAccountToken") is not None]
    return min((float(each.get("expirationSeconds") or TOKEN_SECONDS) for each in tokens), default=None)


async def renew_tokens(
    folder: Path,
    placement: PodPlacement,
    sources: VolumeSources,
    pause: Callable[[float], Awaitable[bool]],
    retry: float,
) -> None:
    """Write the volumes with tokens again before these expire, until `pause` says that the pod stops."""
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
            log = structlog.get_logger("muster.local.node").bind(pod=objects.key(placement.pod))
            log.warning("service account token not renewed, retrying", error=str(error))
            rest = retry
