"""Tables: name and age, and the columns of CRDs."""

from __future__ import annotations

import pytest

from muster.local.apiserver.tables import value_of
from tests.local.apiserver.harness import PODS, Api, Clock, pod

TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)


async def test_pods_are_served_as_a_table_of_names_and_ages(api: Api, clock: Clock) -> None:
    await api.create(PODS, pod("p"))
    clock.now += 60
    table = await api.get(f"{PODS}/p", Accept=TABLE)
    assert table["kind"] == "Table"
    assert table["rows"][0]["cells"] == ["p", "60s"]
    whole = await api.get(f"{PODS}?includeObject=Object", Accept=TABLE)
    assert whole["rows"][0]["object"]["spec"]


async def test_only_the_first_event_of_a_table_watch_has_column_definitions(api: Api) -> None:
    await api.create(PODS, pod("a"))
    await api.create(PODS, pod("b"))
    stream = await api.watch(PODS, Accept=TABLE)
    first, second = await stream.next(), await stream.next()
    assert first[1]["columnDefinitions"][0]["name"] == "Name"
    assert second[1]["columnDefinitions"] is None
    stream.close()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".spec.size", 3),
        (".spec.dash-ed", 1),
        (".status.conditions[0].type", "Other"),
        (".status.conditions[-1].type", "Ready"),
        (".status.conditions[9].type", None),
        (".spec.size.deeper", None),
        (".spec[0]", None),
        (".status.conditions.type", None),
        (".absent.field", None),
    ],
)
def test_a_path_of_names_and_indices_finds_its_value(path: str, value: object) -> None:
    status = {"conditions": [{"type": "Other"}, {"type": "Ready"}]}
    assert value_of(path)({"spec": {"size": 3, "dash-ed": 1}, "status": status}) == value


@pytest.mark.parametrize(
    "path", ["", ".", "spec.size", "..a", ".a[*]", '.a[?(@.type=="Ready")].status', ".a[", ".a['b']"]
)
def test_any_other_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="write names and indices"):
        value_of(path)
