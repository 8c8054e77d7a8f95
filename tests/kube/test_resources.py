"""Objects as dictionaries: the verbs, the paths, and answers that cannot be read."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.errors import ApiError, MusterError
from muster.kube.resources import Object, ResourceClient, core, custom, read
from muster.kube.transport import Answer
from muster.kube.unstructured import items, mapping, moment, text, whole
from muster.reconcilers.refs import ExperimentRef
from tests.fakes.api import FakeApi

PODS = core("team", "pods")
POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "run-0"}, "spec": {}}


async def test_each_verb_is_the_request_of_the_kubernetes_api() -> None:
    api = FakeApi()
    client = ResourceClient(api)
    made = await client.create(PODS, POD)
    assert (await client.get(core("team", "pods", "run-0")))["metadata"]["uid"] == made["metadata"]["uid"]
    assert [pod.uid for pod in await client.list(PODS)] == [made["metadata"]["uid"]]
    options = {"preconditions": {"uid": made["metadata"]["uid"]}}
    gone = await client.delete(core("team", "pods", "run-0"), options)
    assert "deletionTimestamp" in gone["metadata"]
    assert [(request.method, request.body) for request in api.requests][-1] == ("DELETE", options)


async def test_no_more_requests_are_under_way_than_allowed() -> None:
    api = FakeApi()
    client = ResourceClient(api, concurrency=3)
    api.gate.clear()
    asked = [asyncio.create_task(client.list(PODS), name=f"list {number}") for number in range(10)]
    await api.crowd(3)
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(api.asked("")) == 3
    api.gate.set()
    assert await asyncio.gather(*asked) == [[]] * 10


def test_collections_and_objects_have_the_paths_of_the_kubernetes_api() -> None:
    assert core("lab", "pods") == "/api/v1/namespaces/lab/pods"
    assert core(None, "pods") == "/api/v1/pods"
    assert core("lab", "pods", "moe-0") == "/api/v1/namespaces/lab/pods/moe-0"
    assert custom("batch/v1", "lab", "jobs", "moe") == "/apis/batch/v1/namespaces/lab/jobs/moe"
    assert custom("batch/v1", None, "jobs") == "/apis/batch/v1/jobs"
    assert ExperimentRef("lab", "moe", "uid").path == "/apis/muster.dev/v1alpha1/namespaces/lab/experiments/moe"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../../nodes"])
def test_a_name_that_would_change_the_path_is_refused(name: str) -> None:
    for place in (("lab", "pods", name), (name, "pods", "moe"), (name, "pods")):
        with pytest.raises(MusterError, match="cannot be the name"):
            core(*place)
        with pytest.raises(MusterError, match="cannot be the name"):
            custom("muster.dev/v1alpha1", *place)


@given(st.binary())
def test_decoding_any_bytes_raises_nothing_but_api_errors(body: bytes) -> None:
    with suppress(ApiError):
        read(Answer(200, body), Object, "GET /x")


@pytest.mark.parametrize("body", [b'{"metadata":' + b"[" * 100_000, b'{"other":' * 100_000, b"\xff", b"", b"null"])
def test_deep_or_invalid_json_is_an_api_error(body: bytes) -> None:
    with pytest.raises(ApiError, match="cannot be read"):
        read(Answer(200, body), Object, "GET /x")


@pytest.mark.parametrize(("text", "version"), [("12", 12), ("", 0), ("x", 0), ("-1", 0), ("٣", 0), ("9" * 5000, 0)])
def test_a_version_that_is_not_a_number_reads_as_zero(text: str, version: int) -> None:
    body = msgspec.json.encode({"metadata": {"resourceVersion": text}})
    assert read(Answer(200, body), Object, "GET /x").metadata.version == version


@pytest.mark.parametrize("value", [None, 7, "x", [], [1, "a", None], {"a": 1}, True])
def test_odd_values_read_as_empty(value: Any) -> None:
    holder = {"key": value}
    assert isinstance(mapping(value), dict)
    assert all(isinstance(item, dict) for item in items(value))
    assert isinstance(text(holder, "key"), str)
    assert isinstance(whole(holder, "key"), int)
    assert moment(value) is None


def test_values_are_read_as_they_are() -> None:
    assert whole({"rank": "12"}, "rank") == 12
    assert whole({"rank": "-1"}, "rank", -5) == -5
    assert moment("1970-01-01T00:01:00Z") == moment("1970-01-01T01:01:00.000000+01:00") == moment("1970-01-01T00:01:00")
