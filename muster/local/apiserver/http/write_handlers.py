"""Handlers of create, update, patch and delete."""

from aiohttp import web

from muster.local.apiserver.errors import bad_request, method_not_allowed, unsupported_media
from muster.local.apiserver.http import bodies
from muster.local.apiserver.http.bodies import json_reply
from muster.local.apiserver.http.request_info import Query, RequestInfo
from muster.local.apiserver.objects.object_store import ObjectStore
from muster.local.apiserver.objects.options import WriteOptions
from muster.local.apiserver.objects.write_preparation import is_merge_patch, merge_patch
from muster.local.apiserver.storage.stored_objects import StoredObject

_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"


class WriteHandlers:
    """Handlers of write requests."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    async def create(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Create an object: POST to a collection."""
        if info.resource.namespaced and not info.namespace:
            raise method_not_allowed("POST")
        body = bodies.decode(await bodies.read_body(request), request.content_type)
        options = query.write()
        stored = self._store.create(info.resource, info.namespace, body, options)
        return self._reply(stored, options, 201)

    async def update(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Replace an object or its status: PUT."""
        body = bodies.decode(await bodies.read_body(request), request.content_type)
        options = query.write(info.subresource)
        stored = self._store.update(info.resource, info.namespace, info.name, body, options)
        return self._reply(stored, options)

    async def patch(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Patch an object or its status."""
        kind = request.content_type
        if kind not in (_MERGE, _STRATEGIC):
            raise unsupported_media(kind, [_MERGE])
        patch = bodies.decode_json(await bodies.read_body(request))
        if not isinstance(patch, dict):
            raise bad_request("the patch must be an object")
        if kind == _STRATEGIC and (info.resource.custom or not is_merge_patch(patch)):
            raise unsupported_media(kind, [_MERGE])
        options = query.write(info.subresource)
        stored = self._store.patch(
            info.resource, info.namespace, info.name, lambda obj: merge_patch(obj, patch), options
        )
        return self._reply(stored, options)

    async def delete(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Delete an object. The response is its last state."""
        raw = await bodies.read_body(request)
        options = query.delete(bodies.decode(raw, request.content_type) if raw else None)
        return json_reply(self._store.delete(info.resource, info.namespace, info.name, options).data)

    def _reply(self, stored: StoredObject, options: WriteOptions, status: int = 200) -> web.StreamResponse:
        return json_reply(stored.data, status, options.warnings)
