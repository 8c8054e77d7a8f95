"""Merge patch (RFC 7386), and which strategic merge patches are one."""

from __future__ import annotations

from typing import Any


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


def is_merge_patch(strategic: Any) -> bool:
    """Whether a strategic merge patch is a merge patch too: it has neither a list nor a directive such as `$patch`.

    `kubectl apply` of a changed ConfigMap, Secret or label sends such a one.
    """
    if isinstance(strategic, list):
        return False
    return not isinstance(strategic, dict) or all(
        not key.startswith("$") and is_merge_patch(value) for key, value in strategic.items()
    )
