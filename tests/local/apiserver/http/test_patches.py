"""Merge patches, and the strategic merge patches that are taken as one."""

from typing import Any

import pytest

from tests.local.apiserver.harness import CONFIGS, CRDS, PODS, WIDGET_SCHEMA, WIDGETS, Api, config, definition, pod
from tests.local.apiserver.harness import widget as a_widget

STRATEGIC = "application/strategic-merge-patch+json"


async def test_a_merge_patch_replaces_lists_and_removes_nulls(api: Api) -> None:
    await api.create(CONFIGS, config("c", a="1", b="2"))
    changed = await api.patch(f"{CONFIGS}/c", {"data": {"a": None, "c": "3"}, "metadata": {"finalizers": ["x.y/a"]}})
    assert changed["data"] == {"b": "2", "c": "3"}
    changed = await api.patch(f"{CONFIGS}/c", {"metadata": {"finalizers": ["x.y/b"]}})
    assert changed["metadata"]["finalizers"] == ["x.y/b"]


async def test_a_patch_with_a_stale_version_conflicts(api: Api) -> None:
    first = await api.create(CONFIGS, config("c", a="1"))
    await api.patch(f"{CONFIGS}/c", {"data": {"a": "2"}})
    stale = {"metadata": {"resourceVersion": first["metadata"]["resourceVersion"]}, "data": {"a": "3"}}
    status, body = await api.call("PATCH", f"{CONFIGS}/c", stale, kind="application/merge-patch+json")
    assert (status, body["reason"]) == (409, "Conflict")


async def test_a_strategic_merge_patch_without_lists_is_a_merge_patch(api: Api) -> None:
    await api.create(CONFIGS, config("c", a="1", b="2"))
    changed = await api.patch(f"{CONFIGS}/c", {"data": {"a": None, "c": "3"}}, STRATEGIC)
    assert changed["data"] == {"b": "2", "c": "3"}


@pytest.mark.parametrize(
    ("path", "patch", "kind", "code"),
    [
        (f"{PODS}/p", {"spec": {"containers": [{"name": "main", "image": "b"}]}}, STRATEGIC, 415),
        (f"{PODS}/p", {"metadata": {"labels": {"$patch": "replace"}}}, STRATEGIC, 415),
        (f"{WIDGETS}/w", {"spec": {"size": 2}}, STRATEGIC, 415),
        (f"{PODS}/p", [{"op": "remove", "path": "/metadata/labels"}], "application/json-patch+json", 415),
        (f"{PODS}/p?fieldManager=m", pod("p"), "application/apply-patch+yaml", 415),
        (f"{PODS}/p", [], "application/merge-patch+json", 400),
        (f"{PODS}/p", b"{", "application/merge-patch+json", 400),
    ],
)
async def test_a_patch_of_another_kind_is_refused(api: Api, path: str, patch: Any, kind: str, code: int) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    await api.create(WIDGETS, a_widget("w"))
    made = await api.create(PODS, pod("p"))
    status, body = await api.call("PATCH", path, patch, kind=kind)
    assert (status, body["kind"]) == (code, "Status")
    assert await api.get(f"{PODS}/p") == made
