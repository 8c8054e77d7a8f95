"""CRDs, and the pruning and defaulting of custom resources."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.local.apiserver.harness import CRDS, WIDGET_SCHEMA, WIDGETS, Api, definition, widget


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (["metadata", "name"], "gadgets.example.com", "metadata.name"),
        (["spec", "scope"], "Everywhere", "spec.scope"),
        (["spec", "versions"], [], "spec.versions"),
        (["spec", "names", "kind"], "", "spec.names.kind"),
        (["spec", "versions", 0, "storage"], False, "spec.versions"),
        (["spec", "versions", 0, "schema"], {}, "spec.versions[0].schema.openAPIV3Schema"),
    ],
)
async def test_an_invalid_crd_is_refused_with_the_field(api: Api, path: list[Any], value: Any, field: str) -> None:
    crd = copy.deepcopy(definition(WIDGET_SCHEMA))
    inner: Any = crd
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    status, body = await api.call("POST", CRDS, crd)
    assert (status, body["reason"]) == (422, "Invalid")
    assert body["details"]["causes"][0]["field"] == field


async def test_unknown_fields_are_pruned_and_defaults_are_set(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    body = widget("w", unknown=1, free={"any": {"thing": 1}}, amount="50%", parts=[{"name": "a", "odd": 1}])
    made = await api.create(WIDGETS, body)
    assert made["spec"] == {
        "size": 1,
        "colour": "red",
        "free": {"any": {"thing": 1}},
        "amount": "50%",
        "parts": [{"name": "a", "weight": 1}],
    }
    status, answer = await api.call("POST", f"{WIDGETS}?fieldValidation=Strict", widget("v", unknown=1))
    assert (status, answer["message"]) == (400, 'strict decoding error: unknown field "spec.unknown"')


async def test_status_is_written_through_its_subresource_only(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    made = await api.create(WIDGETS, {**widget("w"), "status": {"phase": "Ignored"}})
    assert "status" not in made
    status, _ = await api.call("PUT", f"{WIDGETS}/w/status", {**made, "status": {"phase": "Busy", "count": 2}})
    assert status == 200
    assert (await api.get(f"{WIDGETS}/w/status"))["status"] == {"phase": "Busy", "count": 2}
    status, body = await api.call("PUT", f"{WIDGETS}/w/status", {**made, "status": {"phase": "Late"}})
    assert (status, body["reason"]) == (409, "Conflict")


async def test_an_unconditional_put_of_a_custom_resource_is_refused(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    await api.create(WIDGETS, widget("w"))
    status, body = await api.call("PUT", f"{WIDGETS}/w", widget("w", size=2))
    assert (status, body["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")


async def test_a_changed_crd_serves_its_new_schema(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    schema = copy.deepcopy(WIDGET_SCHEMA)
    schema["properties"]["spec"]["properties"]["shape"] = {"type": "string", "default": "round"}
    await api.patch(f"{CRDS}/widgets.example.com", {"spec": definition(schema)["spec"]})
    assert (await api.create(WIDGETS, widget("w")))["spec"]["shape"] == "round"


async def test_the_crds_of_this_project_are_served(api: Api) -> None:
    for path in sorted((Path(__file__).parents[4] / "deploy" / "crds").glob("*.yaml")):
        for crd in yaml.safe_load_all(path.read_text()):
            made = await api.create(CRDS, crd)
            assert made["status"]["acceptedNames"]["kind"] == crd["spec"]["names"]["kind"]
