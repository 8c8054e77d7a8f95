"""ConfigMaps and Secrets, read when a container needs them."""

from __future__ import annotations

from muster.api.errors import ApiError, NotFound
from muster.local.node.api import Api
from muster.local.node.objects import Object
from muster.local.node.pods.environment import ConfigError


class ApiSources:
    """Straight from the API server: a container sees what is there when it starts."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def config_map(self, namespace: str, name: str) -> Object | None:
        return await self._get(namespace, "configmaps", name)

    async def secret(self, namespace: str, name: str) -> Object | None:
        return await self._get(namespace, "secrets", name)

    async def _get(self, namespace: str, kind: str, name: str) -> Object | None:
        try:
            return await self._api.get(f"/api/v1/namespaces/{namespace}/{kind}/{name}")
        except NotFound:
            return None
        except ApiError as error:
            raise ConfigError(f"cannot read {kind}/{name}: {error}") from error
