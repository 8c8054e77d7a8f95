"""Decoding an answer raises nothing but ApiError, whatever the bytes."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.errors import ApiError
from muster.kube.resources import Object, read
from muster.kube.transport import Answer


@given(st.binary())
def test_decoding_any_bytes_raises_nothing_but_api_errors(body: bytes) -> None:
    with suppress(ApiError):
        read(Answer(200, body), Object, "GET /x")


@pytest.mark.parametrize("body", [b'{"metadata":' + b"[" * 100_000, b'{"other":' * 100_000, b"\xff", b"", b"null"])
def test_deep_or_invalid_json_is_an_api_error(body: bytes) -> None:
    with pytest.raises(ApiError, match="cannot be read"):
        read(Answer(200, body), Object, "GET /x")


@pytest.mark.parametrize(("said", "version"), [("12", 12), ("", 0), ("x", 0), ("-1", 0), ("٣", 0), ("9" * 5000, 0)])
def test_a_version_that_is_not_a_number_reads_as_zero(said: str, version: int) -> None:
    body = msgspec.json.encode({"metadata": {"resourceVersion": said}})
    assert read(Answer(200, body), Object, "GET /x").metadata.version == version
