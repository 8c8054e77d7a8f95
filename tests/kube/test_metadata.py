"""Answers are hostile until read, and names never leave their place in a path."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.errors import ApiError, MusterError
from muster.kube.metadata import Object, read
from muster.kube.paths import core, experiment
from muster.kube.transport import Answer


@given(st.binary())
def test_no_answer_raises_anything_but_an_api_error(body: bytes):
    with suppress(ApiError):
        read(Answer(200, body), Object, "GET /x")


@pytest.mark.parametrize("body", [b'{"metadata":' + b"[" * 100_000, b'{"other":' * 100_000, b"\xff", b"", b"null"])
def test_depth_and_rubbish_are_api_errors(body: bytes):
    with pytest.raises(ApiError, match="cannot be read"):
        read(Answer(200, body), Object, "GET /x")


@pytest.mark.parametrize(("said", "version"), [("12", 12), ("", 0), ("x", 0), ("-1", 0), ("٣", 0), ("9" * 5000, 0)])
def test_a_version_is_a_number_or_nothing(said: str, version: int):
    body = msgspec.json.encode({"metadata": {"resourceVersion": said}})
    assert read(Answer(200, body), Object, "GET /x").metadata.version == version


def test_objects_live_where_kubernetes_keeps_them():
    assert core("lab", "pods") == "/api/v1/namespaces/lab/pods"
    assert core("lab", "pods", "moe-0") == "/api/v1/namespaces/lab/pods/moe-0"
    assert experiment("lab", "moe") == "/apis/muster.dev/v1alpha1/namespaces/lab/experiments/moe"


@pytest.mark.parametrize("name", [".", "..", "a/b", "../../nodes"])
def test_a_name_that_is_a_step_in_the_path_is_an_error(name: str):
    with pytest.raises(MusterError, match="cannot be the name"):
        core("lab", "pods", name)
    with pytest.raises(MusterError, match="cannot be the name"):
        experiment(name, "moe")
