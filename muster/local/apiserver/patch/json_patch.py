"""JSON patch (RFC 6902) and merge patch (RFC 7386)."""

from __future__ import annotations

from typing import Any

from muster.local.apiserver.errors import ApiError, bad_request
from muster.local.apiserver.storage.stored_objects import encode

Json = dict[str, Any]
_OPERATIONS_ALLOWED = 10_000
# A copy of the whole object into itself doubles its size: thirty of them would fill the memory.
_COPIES_ALLOWED = 100
_COPIED_BYTES_ALLOWED = 3 << 20


def _too_much(what: str) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"the JSON patch {what}")


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a merge patch. Neither argument is modified."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def _absent(target: Any, path: Any) -> bool:
    """Whether the last field of a path is missing from its object; kube-apiserver lets `replace` add it."""
    if not isinstance(path, str) or not path.startswith("/"):
        return False
    *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
    for part in parents:
        if isinstance(target, list):
            target = target[int(part)] if part.isdecimal() and int(part) < len(target) else None
        else:
            target = target.get(part) if isinstance(target, dict) else None
    return isinstance(target, dict) and last not in target


def json_patch(target: Json, patch: Any) -> Json:
    """Apply a JSON patch; ApiError 422 if an operation fails."""
    import jsonpatch

    if not isinstance(patch, list) or not all(isinstance(operation, dict) for operation in patch):
        raise bad_request("a JSON patch must be a list of operations")
    if len(patch) > _OPERATIONS_ALLOWED:
        raise _too_much(f"has {len(patch)} operations; {_OPERATIONS_ALLOWED} are allowed")
    if sum(operation.get("op") == "copy" for operation in patch) > _COPIES_ALLOWED:
        raise _too_much(f"has more than {_COPIES_ALLOWED} copy operations")
    try:
        result = target
        for operation in patch:
            if operation.get("op") == "replace" and _absent(result, operation.get("path")):
                operation = {**operation, "op": "add"}
            result = jsonpatch.JsonPatch([operation]).apply(result, in_place=result is not target)
            if operation["op"] == "copy" and len(encode(result)) > _COPIED_BYTES_ALLOWED:
                raise _too_much(f"copies to more than {_COPIED_BYTES_ALLOWED} bytes")
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as failure:
        raise ApiError(
            422, "Invalid", f"the server rejected our request due to an error in our request: {failure}"
        ) from failure
    except (TypeError, KeyError, ValueError, IndexError) as failure:
        raise bad_request(f"the JSON patch does not fit the object: {failure}") from failure
    if not isinstance(result, dict):
        raise bad_request("the JSON patch must leave an object")
    return result
