"""An answer of gRPC is read from what any peer sends."""

import pytest

from muster.watchers.probes.bounded.grpc import NoAnswer, Status, message_of


@pytest.mark.parametrize("http", [b"", b"9" * 5_000, b"0200", b"abc", b"-1", b"2 0", "٤٠٤".encode(), b"\xff"])
def test_a_status_of_http_that_is_none_is_no_answer(http: bytes) -> None:
    with pytest.raises(NoAnswer) as refused:
        message_of({b":status": http}, b"")
    assert refused.value.code is Status.UNKNOWN
