"""Handlers of create, update, patch and delete."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from muster.local.apiserver.errors import ApiError, bad_request, method_not_allowed, unsupported_media
from muster.local.apiserver.http import bodies
from muster.local.apiserver.http.query import Query
from muster.local.apiserver.http.read_handlers import ReadHandlers
from muster.local.apiserver.http.representation import accepted_form, converted, encode_object
from muster.local.apiserver.http.request_info import RequestInfo
from muster.local.apiserver.http.responses import json_reply, success
from muster.local.apiserver.kinds.events import from_view
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.patch.json_patch import json_patch, merge_patch
from muster.local.apiserver.patch.managed_fields import merge_schema_of
from muster.local.apiserver.patch.strategic_merge import strategic_merge
from muster.local.apiserver.storage.object_store import ObjectStore
from muster.local.apiserver.storage.options import WriteOptions
from muster.local.apiserver.storage.stored_objects import Json, StoredObject, encode

_JSON_PATCH = "application/json-patch+json"
_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_APPLY = "application/apply-patch+yaml"
_RETURNED_WHEN_DELETED = frozenset(("Pod", "Service", "ServiceAccount", "PersistentVolumeClaim"))


class WriteHandlers:
    """Handlers of write requests."""

    def __init__(self, store: ObjectStore, read: ReadHandlers) -> None:
        self._store = store
        self._read = read

    async def create(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Create an object: POST to a collection."""
        if info.resource.namespaced and not info.namespace:
            raise method_not_allowed("POST")
        body = bodies.decode(await bodies.read_body(request), request.content_type)
        options = query.write()
        if isinstance(body, dict) and isinstance(body.get("metadata"), dict) and info.resource.namespaced:
            body["metadata"].setdefault("namespace", info.namespace)
        stored = self._store.create(self._core(info.resource, body), info.namespace, body, options)
        return self._reply(request, info.resource, stored, options, 201)

    async def update(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Replace an object or its status: PUT."""
        body = bodies.decode(await bodies.read_body(request), request.content_type)
        options = query.write(info.subresource)
        resource = self._core(info.resource, body)
        stored = self._store.update(resource, info.namespace, info.name, body, options)
        return self._reply(request, info.resource, stored, options)

    async def patch(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Patch an object or its status with one of the four patch types."""
        kind = request.content_type
        supported = [_JSON_PATCH, _MERGE, _APPLY] if info.resource.custom else [_JSON_PATCH, _MERGE, _STRATEGIC, _APPLY]
        if kind not in supported:
            raise unsupported_media(kind, supported)
        raw = await bodies.read_body(request)
        options = query.write(info.subresource)
        resource, namespace, name = info.resource, info.namespace, info.name
        if kind == _APPLY:
            options = WriteOptions(
                options.dry_run,
                query.text("fieldManager"),
                options.strictness,
                options.force,
                options.subresource,
                options.warnings,
            )
            applied = bodies.decode_apply(raw)
            stored, made = self._store.apply(self._core(resource, applied), namespace, name, applied, options)
            return self._reply(request, resource, stored, options, 201 if made else 200)
        if options.force:
            raise bad_request("force: Forbidden: may not be specified for non-apply patch")
        patch = bodies.decode_patch(raw)
        if resource.group == "events.k8s.io":
            if kind == _JSON_PATCH or not isinstance(patch, dict):
                raise unsupported_media(kind, [_MERGE])
            patch = from_view(patch)
            patch.pop("apiVersion")
            resource = self._store.resource("v1", "events")
        change = self._change(resource, kind, patch)
        stored = self._store.patch(resource, namespace, name, change, options)
        return self._reply(request, info.resource, stored, options)

    async def delete(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Delete an object. The response is the object if it is still there (for pods always), else a Status."""
        options = query.delete(await self._optional_body(request))
        stored, gone = self._store.delete(info.resource, info.namespace, info.name, options)
        if gone and info.resource.kind not in _RETURNED_WHEN_DELETED:
            return json_reply(encode(success(info.resource.qualified, stored.name, stored.uid)))
        return json_reply(encode_object(info.resource, stored))

    async def delete_all(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Delete all objects of a collection that the selectors match."""
        options = query.delete(await self._optional_body(request))
        if info.resource.namespaced and not info.namespace:
            raise method_not_allowed("DELETE")
        found = self._store.list(info.resource, info.namespace, self._read.selector(info, query))
        deleted = []
        for stored in found:
            try:
                deleted.append(self._store.delete(info.resource, stored.namespace, stored.name, options)[0])
            except ApiError as failure:
                if failure.code != 404:
                    raise
        metadata = {"resourceVersion": str(self._store.versions.version)}
        return self._read.listed(request, info, query, deleted, metadata)

    def _change(self, resource: Resource, kind: str, patch: Any) -> Any:
        if kind == _JSON_PATCH:
            return lambda obj: json_patch(obj, patch)
        if not isinstance(patch, dict):
            raise bad_request("the patch must be an object")
        if kind == _MERGE:
            return lambda obj: merge_patch(obj, patch)
        return lambda obj: strategic_merge(obj, patch, merge_schema_of(resource))

    def _core(self, resource: Resource, body: Any) -> Resource:
        """Convert a body of events.k8s.io into a core event, in place."""
        if resource.group != "events.k8s.io" or not isinstance(body, dict):
            return resource
        core = from_view(body)
        body.clear()
        body.update(core)
        body.setdefault("involvedObject", {})
        return self._store.resource("v1", "events")

    async def _optional_body(self, request: web.BaseRequest) -> Any:
        raw = await bodies.read_body(request)
        return bodies.decode(raw, request.content_type) if raw else None

    def _reply(
        self,
        request: web.BaseRequest,
        resource: Resource,
        stored: StoredObject,
        options: WriteOptions,
        status: int = 200,
    ) -> web.StreamResponse:
        form = accepted_form(request.headers.get("Accept", ""))
        if options.dry_run and status == 201:
            obj: Json = converted(resource, stored)
            obj["metadata"].pop("resourceVersion", None)
            return json_reply(encode(obj), status, options.warnings)
        shown = encode_object(resource, stored, "partial" if form == "partial" else "json")
        return json_reply(shown, status, options.warnings)
