"""Tables: the columns of built-in kinds and of CRDs."""

from __future__ import annotations

import pytest

from muster.local.apiserver.tables.table import value_of
from tests.local.apiserver.harness import CONFIGS, PODS, Api, Clock, config, pod

TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)


async def test_a_list_of_pods_is_served_as_a_table(api: Api, clock: Clock) -> None:
    await api.create(PODS, pod("p"))
    ended = {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2026-09-21T14:13:20Z"}}
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    held = [{"name": "main", "ready": False, "restartCount": 2, "state": waiting, "lastState": ended}]
    await api.patch(
        f"{PODS}/p/status", {"status": {"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": held}}
    )
    clock.now += 60
    table = await api.get(f"{PODS}/p", Accept=TABLE)
    assert table["kind"] == "Table"
    assert table["rows"][0]["cells"][:6] == ["p", "0/1", "CrashLoopBackOff", "2 (60s ago)", "60s", "10.0.0.1"]
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


async def test_a_kind_without_columns_has_name_and_age(api: Api, clock: Clock) -> None:
    await api.create(CONFIGS, config("c"))
    clock.now += 60
    assert [row["cells"] for row in (await api.get(CONFIGS, Accept=TABLE))["rows"]] == [["c", "60s"]]


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
