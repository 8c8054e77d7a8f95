"""The environment of a container: order, sources, and errors."""

from typing import Any

import pytest

from muster.local.node.sources.environment import (
    ConfigError,
    PodPlacement,
    arguments,
    base_environment,
    container_environment,
    service_variables,
)
from tests.local.node.harness import Pod, container, pod
from tests.local.node.sources.test_volumes import FakeSources


@pytest.fixture
def place() -> PodPlacement:
    made = pod("worker-0", container(), labels={"team/a": "x"}, hostname="w0")
    made["metadata"] |= {"uid": "u-1", "annotations": {"note": "hi"}}
    return PodPlacement(made, "local", "10.0.0.5", "10.0.0.1")


async def environment(container: Pod, place: PodPlacement, shelf: FakeSources | None = None) -> dict[str, str]:
    return await container_environment(container, place, shelf or FakeSources(), {})


async def test_a_value_can_refer_to_variables_before_it_only(place: PodPlacement) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)"}, {"name": "C", "value": "3"}]
    assert (await environment({"env": env}, place))["B"] == "1$(C)"


async def test_field_refs_of_the_downward_api(place: PodPlacement) -> None:
    expected = {
        "metadata.name": "worker-0",
        "metadata.uid": "u-1",
        "metadata.labels['team/a']": "x",
        "metadata.annotations['note']": "hi",
        "metadata.labels['absent']": "",
        "status.podIP": "10.0.0.5",
        "status.hostIP": "10.0.0.1",
        "spec.nodeName": "local",
    }
    env = [{"name": path, "valueFrom": {"fieldRef": {"fieldPath": path}}} for path in expected]
    made = await environment({"env": env}, place)
    assert {path: made[path] for path in expected} == expected
    assert made["HOSTNAME"] == "w0"


async def test_env_overrides_env_from_which_may_have_a_prefix(place: PodPlacement) -> None:
    container = {
        "envFrom": [{"prefix": "P_", "configMapRef": {"name": "settings"}}, {"secretRef": {"name": "keys"}}],
        "env": [{"name": "TOKEN", "value": "mine, not $(P_A)"}],
    }
    made = await environment(container, place, FakeSources({"A": "1"}, {"TOKEN": b"theirs"}))
    assert (made["P_A"], made["TOKEN"]) == ("1", "mine, not 1")


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ({"configMapKeyRef": {"name": "nope", "key": "a"}}, 'configmap "nope" not found'),
        ({"configMapKeyRef": {"name": "settings", "key": "b"}}, "couldn't find key b in configmap settings"),
        ({"secretKeyRef": {"name": "nope", "key": "a"}}, 'secret "nope" not found'),
        ({"fieldRef": {"fieldPath": "spec.colour"}}, "is not supported"),
        ({"fileKeyRef": {}}, "fileKeyRef"),
    ],
)
async def test_a_missing_reference_is_an_error(place: PodPlacement, origin: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        await environment({"env": [{"name": "A", "valueFrom": origin}]}, place, FakeSources({"a": "1"}))


async def test_a_missing_optional_reference_sets_no_variable(place: PodPlacement) -> None:
    origin = {"configMapKeyRef": {"name": "nope", "key": "a", "optional": True}}
    assert "A" not in await environment({"env": [{"name": "A", "valueFrom": origin}]}, place)


async def test_a_nul_byte_is_refused(place: PodPlacement) -> None:
    with pytest.raises(ConfigError, match="NUL"):
        await environment({"env": [{"name": "A", "value": "a\0b"}]}, place)


def test_command_and_args_are_expanded_and_a_command_is_required() -> None:
    assert arguments({"command": ["sh", "-c"], "args": ["echo $(A) $(B)"]}, {"A": "1"}) == ["sh", "-c", "echo 1 $(B)"]
    with pytest.raises(ConfigError, match=r"set spec\.containers") as refused:
        arguments({"name": "main", "args": ["x"]}, {})
    assert refused.value.reason == "CreateContainerError"


def test_an_entrypoint_stands_where_a_container_names_no_command() -> None:
    assert arguments({"args": ["$(A)"]}, {"A": "1"}, ("musterd",)) == ["musterd", "1"]
    assert arguments({"command": ["sh"], "args": ["-c"]}, {}, ("musterd",)) == ["sh", "-c"]


def test_the_api_server_is_named_only_where_pods_can_reach_one() -> None:
    assert service_variables("10.0.0.1", None) == {}
    found = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}
    assert service_variables("10.0.0.1", 6443) == found


def test_the_directory_of_the_agents_python_is_first_in_path() -> None:
    assert base_environment("/home/pod", "/venv/bin")["PATH"].startswith("/venv/bin:")
