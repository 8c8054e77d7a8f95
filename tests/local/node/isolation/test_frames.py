"""Frames between agent, launcher and init processes."""

import os
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.local.node.isolation.frames import HEADER, MAX_FRAME, Channel, Decoder, WireError, encode

MESSAGES = st.lists(st.dictionaries(st.text(max_size=8), st.text(max_size=20) | st.integers(), max_size=3), max_size=5)


@given(MESSAGES, st.integers(min_value=1, max_value=7))
def test_messages_are_decoded_from_any_chunks(messages: list[dict[str, Any]], size: int) -> None:
    data = b"".join(map(encode, messages))
    decoder = Decoder()
    out = [message for start in range(0, len(data), size) for message in decoder.feed(data[start : start + size])]
    assert out == messages


def test_lone_surrogates_are_preserved() -> None:
    assert Decoder().feed(encode({"env": "caf\udce9"})) == [{"env": "caf\udce9"}]


def test_an_invalid_frame_is_refused() -> None:
    with pytest.raises(WireError, match="longer"):
        Decoder().feed(HEADER.pack(MAX_FRAME + 1))
    with pytest.raises(WireError, match="one JSON object"):
        Decoder().feed(HEADER.pack(2) + b"[]")


def test_descriptors_arrive_in_order_and_a_closed_socket_is_end_of_file() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        channel = Channel(theirs)
        read, write = os.pipe()
        with ours:
            socket.send_fds(ours, [encode({"op": "start"})], [write])
            os.close(write)
            assert channel.receive() == [{"op": "start"}]
        received = channel.descriptors.popleft()
        os.write(received, b"hello")
        os.close(received)
        assert os.read(read, 99) == b"hello"
        os.close(read)
        with pytest.raises(EOFError):
            channel.receive()
